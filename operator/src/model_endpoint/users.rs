//! Who names an endpoint.

use groundwork_crds::{AgentPipeline, KnowledgeBase, UserRef};
use kube_client::ResourceExt;
use kube_runtime::reflector::Store;

use crate::context::Stores;
use crate::watch::{Guarded, Watched};

/// The endpoints that a knowledge base names, in its own namespace.
pub(crate) fn named_by_knowledge_base(base: &KnowledgeBase) -> Vec<&str> {
    let embedding = base.spec.embedding.as_ref().and_then(|embedding| embedding.model_endpoint.as_ref());
    embedding.into_iter().map(|endpoint| endpoint.name.as_str()).collect()
}

/// The endpoints that a pipeline names, in its own namespace.
pub(crate) fn named_by_pipeline(pipeline: &AgentPipeline) -> Vec<&str> {
    let models = pipeline.spec.models.as_ref();
    models.and_then(|models| models.default.as_ref()).into_iter().map(|model| model.name.as_str()).collect()
}

/// Everybody who names the endpoint, by kind and name.
pub(super) fn users_of(namespace: &str, name: &str, stores: &Stores) -> Vec<UserRef> {
    let mut users = naming(&stores.knowledge_bases, namespace, name, named_by_knowledge_base);
    users.extend(naming(&stores.pipelines, namespace, name, named_by_pipeline));
    users.sort();
    users
}

fn naming<K: Watched>(
    store: &Store<Guarded<K>>,
    namespace: &str,
    name: &str,
    named: impl Fn(&K) -> Vec<&str>,
) -> Vec<UserRef> {
    let objects = store.state();
    let there = objects.iter().filter_map(|object| object.0.as_ref().ok());
    there
        .filter(|object| object.meta().namespace.as_deref() == Some(namespace) && named(object).contains(&name))
        .map(|object| UserRef { kind: K::kind(&()).into_owned(), name: object.name_any() })
        .collect()
}
