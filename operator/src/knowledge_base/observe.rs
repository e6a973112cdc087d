//! Everything that is read for a knowledge base. Nothing comes from a copy that may be old: what is decided here makes and
//! removes Jobs.

use groundwork_config::Contract;
use groundwork_crds::{KnowledgeBase, ModelEndpoint, SourceType, StateClaimSpec};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Pod};
use kube_client::api::ListParams;
use kube_client::{Api, ResourceExt};

use super::names;
use crate::cli::Settings;
use crate::context::Context;
use crate::controller::{Again, Error};
use crate::names::{REBUILD_REQUESTED_AT, SPEC_HASH};
use crate::secrets::{KeyLookup, NamedKey, jittered};
use crate::users::endpoints_of_base;

/// What was found.
#[derive(Clone, Debug)]
pub(super) struct Observed {
    /// The endpoint that the spec names, where it is there.
    pub(super) endpoints: Vec<ModelEndpoint>,
    pub(super) keys: Vec<NamedKey>,
    pub(super) claims: Vec<NamedClaim>,
    /// Whether the claim for state is there.
    pub(super) state_claim: bool,
    /// The contract of the active revision, as it was stored.
    pub(super) active: Option<StoredRevision>,
    pub(super) job: Option<Job>,
    /// Pods of the Job; read only where it has ended or is being removed.
    pub(super) pods: Vec<Pod>,
}

/// A claim that the spec names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedClaim {
    /// Path of the field.
    pub(super) field: String,
    pub(super) name: String,
    pub(super) found: bool,
}

/// What is remembered of a revision.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StoredRevision {
    pub(super) contract: Contract,
    pub(super) spec_hash: String,
    pub(super) rebuild_requested_at: Option<String>,
}

impl Observed {
    /// When to look again at what is neither listed nor watched.
    pub(super) fn again(&self, settings: &Settings) -> Again {
        let missing =
            self.keys.iter().any(|key| key.lookup != KeyLookup::Found) || self.claims.iter().any(|claim| !claim.found);
        let nothing = self.keys.is_empty() && self.claims.is_empty();
        (!nothing).then(|| jittered(settings.secret_interval(!missing)))
    }
}

/// The object as it is now; `None` where it is gone.
pub(super) async fn live(name: &str, namespace: &str, context: &Context) -> Result<Option<KnowledgeBase>, Error> {
    let bases: Api<KnowledgeBase> = Api::namespaced(context.client.clone(), namespace);
    bases.get_opt(name).await.map_err(Error::api(format!("read the KnowledgeBase {namespace}/{name}")))
}

pub(super) async fn observe(base: &KnowledgeBase, context: &Context) -> Result<Observed, Error> {
    let namespace = base.namespace().unwrap_or_default();
    let claims = claims(base, &namespace, context).await?;
    let state_claim = match names::made_state_claim(base) {
        Some(name) => has_claim(&name, &namespace, context).await?,
        None => true,
    };
    let endpoints = endpoints(base, &namespace, context).await?;
    let job = job(base, &namespace, context).await?;
    let pods = match &job {
        Some(job) if has_ended(job) || job.metadata.deletion_timestamp.is_some() => {
            pods(job, &namespace, context).await?
        }
        _ => Vec::new(),
    };
    Ok(Observed {
        keys: keys(base, &endpoints, &namespace, context).await?,
        claims,
        state_claim,
        active: active(base, &namespace, context).await?,
        endpoints,
        job,
        pods,
    })
}

/// Whether a Job has ended, however.
pub(super) fn has_ended(job: &Job) -> bool {
    let conditions = job.status.as_ref().and_then(|status| status.conditions.as_ref());
    let ended = |kind: &str| kind == "Complete" || kind == "Failed";
    conditions.into_iter().flatten().any(|condition| ended(&condition.type_) && condition.status == "True")
}

async fn job(base: &KnowledgeBase, namespace: &str, context: &Context) -> Result<Option<Job>, Error> {
    let jobs: Api<Job> = Api::namespaced(context.client.clone(), namespace);
    let name = names::job(&base.name_any());
    jobs.get_opt(&name).await.map_err(Error::api(format!("read the Job {namespace}/{name}")))
}

async fn pods(job: &Job, namespace: &str, context: &Context) -> Result<Vec<Pod>, Error> {
    let pods: Api<Pod> = Api::namespaced(context.client.clone(), namespace);
    let selector = format!("batch.kubernetes.io/controller-uid={}", job.uid().unwrap_or_default());
    let listed = pods.list(&ListParams::default().labels(&selector)).await;
    Ok(listed.map_err(Error::api(format!("list the pods of the Job {namespace}/{}", job.name_any())))?.items)
}

/// The endpoint that the spec names, where it is there.
async fn endpoints(base: &KnowledgeBase, namespace: &str, context: &Context) -> Result<Vec<ModelEndpoint>, Error> {
    let api: Api<ModelEndpoint> = Api::namespaced(context.client.clone(), namespace);
    let mut endpoints = Vec::new();
    for name in endpoints_of_base(base) {
        let read = api.get_opt(name).await;
        endpoints.extend(read.map_err(Error::api(format!("read the ModelEndpoint {namespace}/{name}")))?);
    }
    Ok(endpoints)
}

async fn keys(
    base: &KnowledgeBase,
    endpoints: &[ModelEndpoint],
    namespace: &str,
    context: &Context,
) -> Result<Vec<NamedKey>, Error> {
    let mut keys = Vec::new();
    let qdrant = base.spec.vector_store.as_ref().and_then(|store| store.qdrant.as_ref());
    if let Some(key) = qdrant.and_then(|qdrant| qdrant.credentials.as_ref()) {
        let field = "spec.vectorStore.qdrant.credentials.secretKeyRef";
        keys.push(NamedKey::look_up(field, &key.secret_key_ref, namespace, context).await?);
    }
    let named = base.spec.embedding.as_ref().and_then(|embedding| embedding.model_endpoint.as_ref());
    let endpoint = named.and_then(|named| endpoints.iter().find(|endpoint| endpoint.name_any() == named.name));
    if let Some((endpoint, key)) = endpoint.and_then(|endpoint| Some((endpoint, endpoint.spec.api_key.as_ref()?))) {
        let field = format!("ModelEndpoint {}: spec.apiKey.secretKeyRef", endpoint.name_any());
        keys.push(NamedKey::look_up(field, &key.secret_key_ref, namespace, context).await?);
    }
    Ok(keys)
}

async fn claims(base: &KnowledgeBase, namespace: &str, context: &Context) -> Result<Vec<NamedClaim>, Error> {
    let mut named = Vec::new();
    for (index, source) in base.spec.sources.iter().enumerate() {
        if let (SourceType::PersistentVolumeClaim, Some(claim)) = (source.r#type, &source.persistent_volume_claim) {
            let field = format!("spec.sources[{index}].persistentVolumeClaim.claimName");
            named.push((field, claim.claim_name.clone()));
        }
    }
    let state = base.spec.state.as_ref().and_then(|state| state.persistent_volume_claim.as_ref());
    if let Some(StateClaimSpec { claim_name: Some(name), .. }) = state {
        named.push(("spec.state.persistentVolumeClaim.claimName".to_owned(), name.clone()));
    }
    let mut claims = Vec::with_capacity(named.len());
    for (field, name) in named {
        let found = has_claim(&name, namespace, context).await?;
        claims.push(NamedClaim { field, name, found });
    }
    Ok(claims)
}

async fn has_claim(name: &str, namespace: &str, context: &Context) -> Result<bool, Error> {
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(context.client.clone(), namespace);
    let claim = claims.get_metadata_opt(name).await;
    Ok(claim.map_err(Error::api(format!("read the PersistentVolumeClaim {namespace}/{name}")))?.is_some())
}

/// What was stored of the active revision. One that somebody removed or changed beyond reading is none: the contract of
/// the present spec is then taken.
async fn active(base: &KnowledgeBase, namespace: &str, context: &Context) -> Result<Option<StoredRevision>, Error> {
    let Some(revision) = base.status.as_ref().and_then(|status| status.active_revision.as_ref()) else {
        return Ok(None);
    };
    let name = names::revision(&base.name_any(), revision);
    let maps: Api<ConfigMap> = Api::namespaced(context.client.clone(), namespace);
    let map = maps.get_opt(&name).await.map_err(Error::api(format!("read the ConfigMap {namespace}/{name}")))?;
    Ok(map.as_ref().and_then(stored_revision))
}

fn stored_revision(map: &ConfigMap) -> Option<StoredRevision> {
    let text = map.data.as_ref()?.get(names::CONTRACT_FILE)?;
    Some(StoredRevision {
        contract: serde_json::from_str(text).ok()?,
        spec_hash: map.annotations().get(SPEC_HASH).cloned().unwrap_or_default(),
        rebuild_requested_at: map.annotations().get(REBUILD_REQUESTED_AT).cloned(),
    })
}
