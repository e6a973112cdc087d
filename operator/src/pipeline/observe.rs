//! Everything that is read for a pipeline. Nothing comes from a copy that may be old: what is decided here is rolled out.

use groundwork_config::Contract;
use groundwork_crds::{AgentPipeline, KnowledgeBase, ModelEndpoint, ToolPolicy};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_client::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use super::names;
use crate::cli::Settings;
use crate::context::Context;
use crate::controller::{Again, Error};
use crate::knowledge_base::{CONTRACT_FILE, revision_name};
use crate::secrets::{KeyLookup, NamedKey, jittered};
use crate::users::{endpoints_of_base, endpoints_of_pipeline};

/// What was found.
#[derive(Clone, Debug)]
pub(super) struct Observed {
    /// Those that the spec names and that are there, in its order.
    pub(super) bases: Vec<KnowledgeBase>,
    /// The contract of each one's active revision, as it was stored, by name.
    pub(super) contracts: BTreeMap<String, Contract>,
    pub(super) endpoints: Vec<ModelEndpoint>,
    pub(super) policy: Option<ToolPolicy>,
    pub(super) keys: Vec<NamedKey>,
    /// Whether the Secret with keys of callers is there; `None` where none is named.
    pub(super) caller_keys: Option<bool>,
    pub(super) deployment: Option<Deployment>,
}

impl Observed {
    /// When to look again at Secrets, which are neither listed nor watched.
    pub(super) fn again(&self, settings: &Settings) -> Again {
        if self.keys.is_empty() && self.caller_keys.is_none() {
            return None;
        }
        let missing = self.keys.iter().any(|key| key.lookup != KeyLookup::Found) || self.caller_keys == Some(false);
        Some(jittered(settings.secret_interval(!missing)))
    }
}

/// An object as it is now; `None` where it is gone.
pub(super) async fn live<K>(name: &str, namespace: &str, context: &Context) -> Result<Option<K>, Error>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
{
    let api: Api<K> = Api::namespaced(context.client.clone(), namespace);
    api.get_opt(name).await.map_err(Error::api(format!("read the {} {namespace}/{name}", K::kind(&()))))
}

pub(super) async fn observe(pipeline: &AgentPipeline, context: &Context) -> Result<Observed, Error> {
    let namespace = pipeline.namespace().unwrap_or_default();
    let (mut bases, mut contracts) = (Vec::new(), BTreeMap::new());
    for reference in &pipeline.spec.knowledge_bases {
        let Some(base) = live::<KnowledgeBase>(&reference.name, &namespace, context).await? else { continue };
        if let Some(contract) = contract(&base, &namespace, context).await? {
            contracts.insert(reference.name.clone(), contract);
        }
        bases.push(base);
    }
    let named: BTreeSet<&str> =
        bases.iter().flat_map(endpoints_of_base).chain(endpoints_of_pipeline(pipeline)).collect();
    let mut endpoints = Vec::new();
    for name in named {
        endpoints.extend(live::<ModelEndpoint>(name, &namespace, context).await?);
    }
    let policy = match &pipeline.spec.tool_policy_ref {
        Some(reference) => live::<ToolPolicy>(&reference.name, &namespace, context).await?,
        None => None,
    };
    let keys = keys(&bases, &endpoints, &namespace, context).await?;
    let caller_keys = match caller_keys(pipeline) {
        Some(name) => Some(live::<Secret>(name, &namespace, context).await?.is_some()),
        None => None,
    };
    let deployment = live::<Deployment>(&names::base(&pipeline.name_any()), &namespace, context).await?;
    Ok(Observed { bases, contracts, endpoints, policy, keys, caller_keys, deployment })
}

/// Name of the Secret with keys of callers.
pub(super) fn caller_keys(pipeline: &AgentPipeline) -> Option<&str> {
    Some(&pipeline.spec.authentication.as_ref()?.api_keys.as_ref()?.secret_ref.name)
}

async fn contract(base: &KnowledgeBase, namespace: &str, context: &Context) -> Result<Option<Contract>, Error> {
    let Some(revision) = base.status.as_ref().and_then(|status| status.active_revision.as_ref()) else {
        return Ok(None);
    };
    let map = live::<ConfigMap>(&revision_name(&base.name_any(), revision), namespace, context).await?;
    let text = map.and_then(|map| map.data?.remove(CONTRACT_FILE));
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}

async fn keys(
    bases: &[KnowledgeBase],
    endpoints: &[ModelEndpoint],
    namespace: &str,
    context: &Context,
) -> Result<Vec<NamedKey>, Error> {
    let mut keys = Vec::new();
    for base in bases {
        let qdrant = base.spec.vector_store.as_ref().and_then(|store| store.qdrant.as_ref());
        if let Some(key) = qdrant.and_then(|qdrant| qdrant.credentials.as_ref()) {
            let field = format!("KnowledgeBase {}: spec.vectorStore.qdrant.credentials.secretKeyRef", base.name_any());
            keys.push(NamedKey::look_up(field, &key.secret_key_ref, namespace, context).await?);
        }
    }
    for endpoint in endpoints {
        if let Some(key) = &endpoint.spec.api_key {
            let field = format!("ModelEndpoint {}: spec.apiKey.secretKeyRef", endpoint.name_any());
            keys.push(NamedKey::look_up(field, &key.secret_key_ref, namespace, context).await?);
        }
    }
    Ok(keys)
}
