//! Names of what belongs to a knowledge base, and places in its pods.

use groundwork_crds::KnowledgeBase;
use kube_client::ResourceExt;

/// Key of a revision's ConfigMap.
pub(crate) const CONTRACT_FILE: &str = "contract.json";
/// Key of an ingestion's ConfigMap, and the file in the pod.
pub(super) const INGESTION_FILE: &str = "ingestion.json";
/// Where state is mounted.
pub(super) const STATE_FOLDER: &str = "/var/lib/groundwork";

/// Everything that has no name of its own.
pub(super) fn base(base: &str) -> String {
    format!("kb-{base}")
}

/// The Job; fixed, so that there is never a second.
pub(super) fn job(base: &str) -> String {
    format!("kb-{base}-ingest")
}

/// The ConfigMap of an ingestion.
pub(super) fn config(base: &str, config_hash: &str) -> String {
    format!("kb-{base}-ingest-{}", config_hash.get(..10).unwrap_or(config_hash))
}

/// The ConfigMap of a revision.
pub(crate) fn revision(base: &str, revision: &str) -> String {
    format!("kb-{base}-revision-{revision}")
}

/// The claim for state that the operator makes; `None` where the spec names one.
pub(super) fn made_state_claim(base: &KnowledgeBase) -> Option<String> {
    named_state_claim(base).is_none().then(|| format!("kb-{}-state", base.name_any()))
}

/// The claim for state.
pub(super) fn state_claim(base: &KnowledgeBase) -> String {
    named_state_claim(base).map_or_else(|| format!("kb-{}-state", base.name_any()), str::to_owned)
}

fn named_state_claim(base: &KnowledgeBase) -> Option<&str> {
    base.spec.state.as_ref()?.persistent_volume_claim.as_ref()?.claim_name.as_deref()
}
