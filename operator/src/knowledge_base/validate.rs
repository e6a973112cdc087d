//! The mistakes of people, and what a correct spec asks for. Pure.

use groundwork_config::compile::{Error as Mistake, Objects, Options, Volume, compile_ingestion};
use groundwork_config::{Contract, Ingestion, Store, revision_id};
use groundwork_crds::condition::Reason;
use groundwork_crds::{KnowledgeBase, RebuildSpec};
use kube_client::ResourceExt;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::observe::{Observed, StoredRevision};
use super::plan::Wanted;
use super::schedule::Schedule;
use crate::names::{ACCEPT_DELETES, REBUILD_REQUESTED_AT, SYNC_REQUESTED_AT};
use crate::pods::{SECRETS_FOLDER, SOURCES_FOLDER};
use crate::verdict::{Problem, Verdict};

/// A ConfigMap holds a mebibyte; names and contract need some of it.
const MAX_CONFIG_BYTES: usize = 1_000_000;

/// What a correct spec asks for.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) ingestion: Ingestion,
    pub(super) wanted: Wanted,
    pub(super) spec_hash: String,
    pub(super) rebuild_requested_at: Option<String>,
    pub(super) schedule: Option<Schedule>,
    pub(super) suspended: bool,
    /// Fields in which a new index would differ from the active one, where nobody asked for it.
    pub(super) differing: Vec<String>,
}

impl Asked {
    /// Whether the spec says what the active revision has in other words, such as a default that is written out. Remembered,
    /// so that only a change of the spec from now on counts as one.
    pub(super) fn respells_active(&self, active: Option<&StoredRevision>) -> bool {
        active.is_some_and(|active| {
            self.differing.is_empty()
                && active.contract == self.ingestion.knowledge_base.contract
                && active.spec_hash != self.spec_hash
        })
    }
}

/// What the spec asks for, where it and what it names are right; and the verdict.
pub(super) fn validate(base: &KnowledgeBase, observed: &Observed) -> (Option<Asked>, Verdict) {
    let (asked, spec, unresolved) = match asked(base, observed) {
        Ok(asked) => (Some(asked), Ok(()), Ok(())),
        Err(Wrong::Spec(problem)) => (None, Err(problem), Ok(())),
        Err(Wrong::Reference(problem)) => (None, Ok(()), Err(problem)),
    };
    let references = unresolved.and_then(|()| references(base, observed));
    let usable = spec.is_ok() && references.is_ok();
    (asked.filter(|_| usable), Verdict { spec, references })
}

enum Wrong {
    Spec(Problem),
    Reference(Problem),
}

fn asked(base: &KnowledgeBase, observed: &Observed) -> Result<Asked, Wrong> {
    let schedule = Schedule::of(base).map_err(Wrong::Spec)?;
    let objects = Objects { endpoints: observed.endpoints.clone(), ..Objects::default() };
    let mut ingestion =
        compile_ingestion(base, &objects, &options(std::slice::from_ref(base))).map_err(|mistake| wrong(&mistake))?;
    if ingestion.knowledge_base.store == Store::Embedded {
        return Err(Wrong::Spec(Problem::new(
            Reason::StoreRequired,
            "spec.vectorStore is of type Embedded: pods cannot share a process's file; name a server, for example \
             type Qdrant with qdrant.url, or use the knowledge base with `groundwork up`",
        )));
    }
    let size = serde_json::to_vec(&ingestion).map_or(0, |json| json.len());
    if size > MAX_CONFIG_BYTES {
        let message = format!(
            "spec.sources has {size} bytes of inline documents, and a pod can be given {MAX_CONFIG_BYTES}; put them \
             on a volume"
        );
        return Err(Wrong::Spec(Problem::new(Reason::Invalid, message)));
    }
    let spec_hash = spec_hash(base);
    let annotation = |name: &str| base.annotations().get(name).cloned();
    let rebuild_requested_at = annotation(REBUILD_REQUESTED_AT);
    let policy = base.spec.rebuild.unwrap_or(RebuildSpec::OnSpecChange);
    let mut differing = Vec::new();
    if let Some(active) = &observed.active
        && active.contract != ingestion.knowledge_base.contract
        && !builds(policy, active, &spec_hash, rebuild_requested_at.as_deref())
    {
        differing = differences(&active.contract, &ingestion.knowledge_base.contract);
        ingestion.knowledge_base.contract = active.contract.clone();
    }
    Ok(Asked {
        wanted: Wanted {
            revision: revision_id(&ingestion.knowledge_base.contract),
            config_hash: ingestion.hash(),
            sync_requested_at: annotation(SYNC_REQUESTED_AT),
            accept_deletes: annotation(ACCEPT_DELETES),
        },
        ingestion,
        spec_hash,
        rebuild_requested_at,
        schedule,
        suspended: base.spec.sync.as_ref().and_then(|sync| sync.suspend).unwrap_or(false),
        differing,
    })
}

/// Whether a contract that differs from the active one is built.
fn builds(policy: RebuildSpec, active: &StoredRevision, spec_hash: &str, requested_at: Option<&str>) -> bool {
    let requested = requested_at.is_some() && requested_at != active.rebuild_requested_at.as_deref();
    match policy {
        RebuildSpec::Always => true,
        RebuildSpec::OnSpecChange => requested || active.spec_hash != spec_hash,
        RebuildSpec::Manual => requested,
    }
}

/// Hash of the fields that a contract is compiled from: what changes it without them comes from elsewhere.
fn spec_hash(base: &KnowledgeBase) -> String {
    let spec = &base.spec;
    let fields = json!([spec.chunking, spec.keyword, spec.embedding]);
    Sha256::digest(fields.to_string()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Paths of the leaves that differ.
fn differences(active: &Contract, new: &Contract) -> Vec<String> {
    let json = |contract: &Contract| serde_json::to_value(contract).unwrap_or_default();
    let mut paths = Vec::new();
    compare("", &json(active), &json(new), &mut paths);
    paths
}

fn compare(path: &str, a: &Value, b: &Value, paths: &mut Vec<String>) {
    match (a.as_object(), b.as_object()) {
        (Some(left), Some(right)) if left.keys().eq(right.keys()) => {
            for (key, value) in left {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                compare(&path, value, &right[key], paths);
            }
        }
        _ if a != b => paths.push(path.to_owned()),
        _ => {}
    }
}

/// Places in the pods of these knowledge bases.
pub(crate) fn options(bases: &[KnowledgeBase]) -> Options {
    let mut volumes = BTreeMap::new();
    for base in bases {
        for source in &base.spec.sources {
            let volume = Volume {
                namespace: base.namespace().unwrap_or_default(),
                knowledge_base: base.name_any(),
                name: source.name.clone(),
            };
            volumes.insert(volume, Path::new(SOURCES_FOLDER).join(&source.name));
        }
    }
    Options { pipeline: None, volumes, secrets_dir: PathBuf::from(SECRETS_FOLDER) }
}

fn wrong(mistake: &Mistake) -> Wrong {
    let message = mistake.to_string();
    match mistake {
        Mistake::UnknownReference { .. } => Wrong::Reference(Problem::new(Reason::EndpointNotFound, message)),
        Mistake::UseNotAllowed { .. } => Wrong::Reference(Problem::new(Reason::EndpointNotForThis, message)),
        _ => Wrong::Spec(Problem::new(Reason::Invalid, message)),
    }
}

fn references(base: &KnowledgeBase, observed: &Observed) -> Result<(), Problem> {
    let namespace = base.namespace().unwrap_or_default();
    observed.keys.iter().try_for_each(|key| key.check(&namespace))?;
    observed.claims.iter().filter(|claim| !claim.found).try_for_each(|claim| {
        let (field, name) = (&claim.field, &claim.name);
        let message = format!(
            "{field} is {name:?}: namespace {namespace} has no such PersistentVolumeClaim; create it or correct the name"
        );
        Err(Problem::new(Reason::ClaimNotFound, message))
    })
}
