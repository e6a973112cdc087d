//! The custom resource definitions as data.

use kube::CustomResourceExt;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::{AgentPipeline, KnowledgeBase, ModelEndpoint, ToolPolicy};

/// The API group of every kind.
pub const GROUP: &str = "groundwork.dev";
/// What manifests carry as `apiVersion`.
pub const API_VERSION: &str = "groundwork.dev/v1alpha1";

/// Fields that decide what the operator makes, and not what the runtime reads: `KIND.path`, with everything below them.
pub const OPERATOR_FIELDS: [&str; 9] = [
    "KnowledgeBase.rebuild",
    "KnowledgeBase.state",
    "KnowledgeBase.ingestion",
    "KnowledgeBase.sync.schedule",
    "KnowledgeBase.sync.timeZone",
    "KnowledgeBase.sync.suspend",
    "AgentPipeline.authentication",
    "AgentPipeline.runtime",
    "AgentPipeline.expose",
];

/// One custom resource definition.
#[derive(Clone, Debug)]
pub struct Definition {
    kind: String,
    plural: String,
    object: Value,
}

impl Definition {
    fn of<K: CustomResourceExt>() -> Self {
        let object = canonical(serde_json::to_value(K::crd()).expect("a definition holds only JSON types"));
        let text =
            |pointer| object.pointer(pointer).and_then(Value::as_str).expect("a definition names itself").to_owned();
        Self { kind: text("/spec/names/kind"), plural: text("/spec/names/plural"), object }
    }

    /// The kind, for example `KnowledgeBase`.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The kind in lower-case plural, for example `knowledgebases`.
    pub fn plural(&self) -> &str {
        &self.plural
    }

    /// Short names of the kind, for example `kb`.
    pub fn short_names(&self) -> Vec<&str> {
        let names = self.object.pointer("/spec/names/shortNames").and_then(Value::as_array);
        names.into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// The OpenAPI schema of the whole object.
    pub fn schema(&self) -> &Value {
        self.object.pointer("/spec/versions/0/schema/openAPIV3Schema").expect("every kind derives its schema")
    }

    /// The definition as YAML, ready for `kubectl apply`.
    pub fn yaml(&self) -> String {
        serde_saphyr::to_string(&self.object).expect("a definition holds only JSON types")
    }
}

/// The value without `nullable` and with sorted keys. A field that is left out and one that is null mean the same: the API
/// server prunes nulls that are not nullable.
fn canonical(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.into_iter().filter(|(key, value)| key != "nullable" || !value.is_boolean());
            let sorted: BTreeMap<String, Value> = kept.map(|(key, value)| (key, canonical(value))).collect();
            sorted
                .into_iter()
                .map(|(key, value)| if key == "enum" { (key, without_null(value)) } else { (key, value) })
                .collect()
        }
        Value::Array(items) => items.into_iter().map(canonical).collect(),
        other => other,
    }
}

fn without_null(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().filter(|item| !item.is_null()).collect(),
        other => other,
    }
}

/// All definitions, in the order in which people meet them.
pub fn definitions() -> &'static [Definition] {
    static ALL: LazyLock<[Definition; 4]> = LazyLock::new(|| {
        [
            Definition::of::<KnowledgeBase>(),
            Definition::of::<AgentPipeline>(),
            Definition::of::<ModelEndpoint>(),
            Definition::of::<ToolPolicy>(),
        ]
    });
    &*ALL
}

/// The definition of a kind, found by its exact name.
pub fn definition(kind: &str) -> Option<&'static Definition> {
    definitions().iter().find(|definition| definition.kind == kind)
}
