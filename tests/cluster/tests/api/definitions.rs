use anyhow::{Context, Result, ensure};
use groundwork_cluster_tests::{ControlPlane, User};
use groundwork_crds::{Definition, GROUP, definitions};
use serde_json::{Value, json};

use crate::{WAYS, repository};

/// A control plane of its own: it deletes what other tests use.
#[tokio::test]
async fn definitions_are_accepted_structural_and_stored_as_they_are() -> Result<()> {
    let test = "definitions_are_accepted_structural_and_stored_as_they_are";
    let Some(plane) = ControlPlane::own(test).await? else { return Ok(()) };
    for way in WAYS {
        for definition in definitions() {
            accepted(&plane, way, definition).await?;
        }
    }
    Ok(())
}

async fn accepted(plane: &ControlPlane, way: &[&str], definition: &Definition) -> Result<()> {
    let kubectl = async |arguments: &[&str]| plane.kubectl(User::Admin, arguments).await;
    let name = format!("{}.{GROUP}", definition.plural());
    let file = format!("charts/groundwork-crds/templates/{GROUP}_{}.yaml", definition.plural());
    let file = repository().join(file);
    let apply = [way, &["-f", file.to_str().context("the path is UTF-8")?]].concat();
    kubectl(&apply).await?;
    kubectl(&["wait", "--for=condition=Established", "crd", &name, "--timeout=60s"]).await?;
    let read =
        async || -> Result<Value> { Ok(serde_json::from_str(&kubectl(&["get", "crd", &name, "-o", "json"]).await?)?) };
    let stored = read().await?;
    for condition in stored["status"]["conditions"].as_array().into_iter().flatten() {
        let good = matches!(condition["type"].as_str(), Some("Established" | "NamesAccepted"));
        ensure!(good && condition["status"] == "True", "{name}: {condition}");
    }
    let schema = &stored["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    ensure!(as_floats(schema) == as_floats(definition.schema()), "{name}: the server stored another schema");

    kubectl(&apply).await?;
    let again = read().await?;
    ensure!(again["metadata"]["resourceVersion"] == stored["metadata"]["resourceVersion"], "{name} changed: {way:?}");
    kubectl(&["delete", "crd", &name, "--timeout=60s"]).await.map(drop)
}

/// 20 and 20.0 are one number in JSON.
fn as_floats(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(items) => items.iter().map(as_floats).collect(),
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), as_floats(value))).collect(),
        other => other.clone(),
    }
}
