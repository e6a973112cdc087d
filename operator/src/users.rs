//! Who names an object.

use groundwork_crds::{AgentPipeline, KnowledgeBase, UserRef};
use kube_client::ResourceExt;
use kube_runtime::reflector::Store;
use serde_json::{Map, Value, json};

use crate::watch::{Guarded, Watched};

/// Users that are named; the rest is counted.
const NAMED: usize = 16;

/// The endpoints that a knowledge base names, in its own namespace.
pub(crate) fn endpoints_of_base(base: &KnowledgeBase) -> Vec<&str> {
    let embedding = base.spec.embedding.as_ref().and_then(|embedding| embedding.model_endpoint.as_ref());
    embedding.into_iter().map(|endpoint| endpoint.name.as_str()).collect()
}

/// The endpoints that a pipeline names, in its own namespace.
pub(crate) fn endpoints_of_pipeline(pipeline: &AgentPipeline) -> Vec<&str> {
    let models = pipeline.spec.models.as_ref();
    models.and_then(|models| models.default.as_ref()).into_iter().map(|model| model.name.as_str()).collect()
}

/// The policies that a pipeline names, in its own namespace.
pub(crate) fn policies_of_pipeline(pipeline: &AgentPipeline) -> Vec<&str> {
    pipeline.spec.tool_policy_ref.iter().map(|policy| policy.name.as_str()).collect()
}

/// The knowledge bases that a pipeline names, in its own namespace.
pub(crate) fn bases_of_pipeline(pipeline: &AgentPipeline) -> Vec<&str> {
    pipeline.spec.knowledge_bases.iter().map(|base| base.name.as_str()).collect()
}

/// The objects of a kind that name another, by name.
pub(crate) fn naming<K: Watched>(
    store: &Store<Guarded<K>>,
    (namespace, name): (&str, &str),
    named: impl Fn(&K) -> Vec<&str>,
) -> Vec<UserRef> {
    let objects = store.state();
    let there = objects.iter().filter_map(|object| object.0.as_ref().ok());
    let mut users: Vec<UserRef> = there
        .filter(|object| object.meta().namespace.as_deref() == Some(namespace) && named(object).contains(&name))
        .map(|object| UserRef { kind: K::kind(&()).into_owned(), name: object.name_any() })
        .collect();
    users.sort();
    users
}

/// The fields of a status that tell the users.
pub(crate) fn fields(users: &[UserRef]) -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert("users".into(), users.len().into());
    if !users.is_empty() {
        fields.insert("usedBy".into(), json!(users[..NAMED.min(users.len())]));
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_users_are_counted_and_the_first_are_named() {
        let users: Vec<UserRef> =
            (0..20).map(|index| UserRef { kind: "AgentPipeline".into(), name: format!("p-{index:02}") }).collect();
        let fields = fields(&users);
        assert_eq!(fields["users"], 20);
        assert_eq!(fields["usedBy"].as_array().map(Vec::len), Some(16));
        assert_eq!(super::fields(&[]).get("usedBy"), None);
    }
}
