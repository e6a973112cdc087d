//! The custom resource definitions as data.

use kube::CustomResourceExt;
use serde_json::Value;
use std::sync::LazyLock;

use crate::{AgentPipeline, KnowledgeBase, ModelEndpoint};

/// The API group of every kind.
pub const GROUP: &str = "groundwork.dev";
/// What manifests carry as `apiVersion`.
pub const API_VERSION: &str = "groundwork.dev/v1alpha1";

/// One custom resource definition.
#[derive(Clone, Debug)]
pub struct Definition {
    kind: String,
    plural: String,
    object: Value,
}

impl Definition {
    fn of<K: CustomResourceExt>() -> Self {
        let mut object = serde_json::to_value(K::crd()).expect("a definition holds only JSON types");
        strip_nullable(&mut object);
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

/// A field that is left out and one that is null mean the same: the API server prunes nulls that are not nullable.
fn strip_nullable(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if map.get("nullable").is_some_and(Value::is_boolean) {
                map.remove("nullable");
            }
            if let Some(Value::Array(values)) = map.get_mut("enum") {
                values.retain(|value| !value.is_null());
            }
            map.values_mut().for_each(strip_nullable);
        }
        Value::Array(items) => items.iter_mut().for_each(strip_nullable),
        _ => {}
    }
}

/// All definitions, in the order in which people meet them.
pub fn definitions() -> &'static [Definition] {
    static ALL: LazyLock<[Definition; 3]> = LazyLock::new(|| {
        [Definition::of::<KnowledgeBase>(), Definition::of::<AgentPipeline>(), Definition::of::<ModelEndpoint>()]
    });
    &*ALL
}

/// The definition of a kind, found by its exact name.
pub fn definition(kind: &str) -> Option<&'static Definition> {
    definitions().iter().find(|definition| definition.kind == kind)
}
