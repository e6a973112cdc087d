//! Whether the cluster's definitions know every field that this operator knows. They are read through the API server's
//! published schemas, which everybody who is signed in may read, so no right on definitions is needed.

use groundwork_crds::{API_VERSION, Definition, definitions};
use kube_client::Client;
use serde_json::Value;
use std::collections::BTreeSet;

/// The command that installs what this operator was built with.
const REMEDY: &str = "run `groundwork-operator crds | kubectl apply --server-side -f -`";

/// What is wrong with the cluster's definitions.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The schemas could not be read.
    #[error("failed to read the definitions that the API server has: {0}")]
    Read(#[source] Box<kube_client::Error>),
    /// The published schemas are no JSON.
    #[error("failed to understand the definitions that the API server has: {0}")]
    Parse(#[source] serde_json::Error),
    /// A kind is missing.
    #[error("the API server has no definition of {kind}: {REMEDY}")]
    Missing { kind: String },
    /// A kind's definition is older.
    #[error("the API server's definition of {kind} is older than this operator, it lacks {field}: {REMEDY}")]
    Older { kind: String, field: String },
}

/// Compares the cluster's definitions with those of this program. Newer ones are fine.
pub(crate) async fn check(client: &Client) -> Result<(), Error> {
    let request = http::Request::get(format!("/openapi/v3/apis/{API_VERSION}")).body(Vec::new());
    let request = request.expect("a constant path is a valid request");
    let text = match client.request_text(request).await {
        Ok(text) => text,
        Err(kube_client::Error::Api(status)) if status.code == 404 => "{}".to_owned(),
        Err(error) => return Err(Error::Read(Box::new(error))),
    };
    let published: Value = serde_json::from_str(&text).map_err(Error::Parse)?;
    definitions().iter().try_for_each(|definition| compare(definition, &published))
}

fn compare(definition: &Definition, published: &Value) -> Result<(), Error> {
    let schemas = published.pointer("/components/schemas").and_then(Value::as_object);
    let is_kind = |schema: &&Value| {
        let kinds = schema["x-kubernetes-group-version-kind"].as_array();
        kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"] == definition.kind()))
    };
    let kind = || definition.kind().to_owned();
    let Some(there) = schemas.into_iter().flat_map(|schemas| schemas.values()).find(is_kind) else {
        return Err(Error::Missing { kind: kind() });
    };
    let known = ["spec", "status"].map(|part| fields(part, &definition.schema()["properties"][part]));
    let installed: BTreeSet<String> =
        ["spec", "status"].into_iter().flat_map(|part| fields(part, &there["properties"][part])).collect();
    match known.into_iter().flatten().find(|field| !installed.contains(field)) {
        Some(field) => Err(Error::Older { kind: kind(), field }),
        None => Ok(()),
    }
}

/// Paths of every field of a schema.
fn fields(path: &str, schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let inner = format!("{path}.{name}");
        found.extend(fields(&inner, property));
        found.push(inner);
    }
    if schema["items"].is_object() {
        found.extend(fields(&format!("{path}[]"), &schema["items"]));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn published(change: impl Fn(&str, &mut Value)) -> Value {
        let mut schemas = serde_json::Map::new();
        for definition in definitions() {
            let mut schema = definition.schema().clone();
            schema["x-kubernetes-group-version-kind"] = json!([{"kind": definition.kind()}]);
            change(definition.kind(), &mut schema);
            schemas.insert(format!("dev.groundwork.v1alpha1.{}", definition.kind()), schema);
        }
        json!({"components": {"schemas": schemas}})
    }

    fn all(published: &Value) -> Result<(), Error> {
        definitions().iter().try_for_each(|definition| compare(definition, published))
    }

    #[test]
    fn equal_and_newer_definitions_are_fine() {
        assert!(all(&published(|_, _| ())).is_ok());
        let newer = |_: &str, schema: &mut Value| {
            schema["properties"]["spec"]["properties"]["future"] = json!({"type": "string"});
        };
        assert!(all(&published(newer)).is_ok());
    }

    #[test]
    fn a_missing_kind_and_a_missing_field_are_named_with_the_command_to_run() {
        let error = all(&json!({})).unwrap_err().to_string();
        assert!(error.contains("no definition of KnowledgeBase") && error.contains("kubectl apply"), "{error}");
        let older = published(|kind, schema| {
            if kind == "ModelEndpoint" {
                let limits = schema.pointer_mut("/properties/spec/properties/limits/properties").unwrap();
                limits.as_object_mut().unwrap().remove("concurrency");
            }
        });
        let error = all(&older).unwrap_err().to_string();
        assert!(error.contains("ModelEndpoint") && error.contains("spec.limits.concurrency"), "{error}");
    }
}
