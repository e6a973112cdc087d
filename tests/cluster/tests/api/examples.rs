use anyhow::{Context, Result, ensure};
use groundwork_cluster_tests::{ControlPlane, User};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

use crate::{WAYS, repository};

/// Files below `examples/` with a Kubernetes object.
fn manifests(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            manifests(&path, found)?;
        } else if path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml") {
            let text = std::fs::read_to_string(&path)?;
            if text.lines().any(|line| line.starts_with("apiVersion:")) {
                found.push(path);
            }
        }
    }
    Ok(())
}

#[tokio::test]
async fn examples_are_stored_as_they_are_and_a_second_apply_changes_nothing() -> Result<()> {
    let test = "examples_are_stored_as_they_are_and_a_second_apply_changes_nothing";
    let Some(plane) = ControlPlane::shared(test).await? else { return Ok(()) };
    plane.install_definitions().await?;
    let mut files = Vec::new();
    manifests(&repository().join("examples"), &mut files)?;
    ensure!(!files.is_empty(), "there are examples");
    for way in WAYS {
        let namespace = plane.namespace("examples").await?;
        for file in &files {
            applied_twice(plane, &namespace, way, file).await.with_context(|| file.display().to_string())?;
        }
    }
    Ok(())
}

async fn applied_twice(plane: &ControlPlane, namespace: &str, way: &[&str], file: &Path) -> Result<()> {
    let file_name = file.to_str().context("the path is UTF-8")?;
    let kubectl = async |arguments: &[&str]| {
        plane.kubectl(User::Admin, &[arguments, &["--namespace", namespace, "-f", file_name]].concat()).await
    };
    let read = async || kubectl(&["get", "-o", "json"]).await.map(|text| objects(&text));
    kubectl(way).await?;
    let stored = read().await??;
    let written: Vec<Value> = serde_saphyr::from_multiple(&std::fs::read_to_string(file)?)?;
    ensure!(written.len() == stored.len(), "{} objects became {}", written.len(), stored.len());
    for (written, stored) in written.iter().zip(&stored) {
        let differences = drift(written, stored);
        ensure!(differences.is_empty(), "{way:?} left a drift: {differences:?}");
    }

    kubectl(way).await?;
    let versions = |objects: &[Value]| -> Vec<Value> {
        objects.iter().map(|object| object["metadata"]["resourceVersion"].clone()).collect()
    };
    ensure!(versions(&read().await??) == versions(&stored), "{way:?}: the second apply changed something");
    let server_side = way.iter().skip(1).copied();
    kubectl(&["diff"].into_iter().chain(server_side).collect::<Vec<_>>()).await.context("a diff")?;
    Ok(())
}

/// `kubectl get` of one object prints it, of several a list.
fn objects(text: &str) -> Result<Vec<Value>> {
    let read: Value = serde_json::from_str(text)?;
    Ok(if read["kind"] == "List" { read["items"].as_array().cloned().unwrap_or_default() } else { vec![read] })
}

/// Paths that differ. The server adds to metadata and may add `status`; everything else must be as it was written.
fn drift(written: &Value, stored: &Value) -> Vec<String> {
    let empty = Map::new();
    let (written, stored) = (written.as_object().unwrap_or(&empty), stored.as_object().unwrap_or(&empty));
    let mut found: Vec<String> = written
        .keys()
        .chain(stored.keys())
        .filter(|key| !["metadata", "status"].contains(&key.as_str()) && written.get(*key) != stored.get(*key))
        .map(|key| format!("{key}: {:?} became {:?}", written.get(key), stored.get(key)))
        .collect();
    let metadata = |object: &Map<String, Value>, field: &str| {
        object.get("metadata").and_then(|metadata| metadata.get(field)).and_then(Value::as_object).cloned()
    };
    for field in ["labels", "annotations"] {
        let kept = metadata(stored, field).unwrap_or_default();
        let lost = metadata(written, field)
            .unwrap_or_default()
            .into_iter()
            .filter(|(key, value)| kept.get(key) != Some(value));
        found.extend(lost.map(|(key, _)| format!("metadata.{field}.{key}")));
    }
    found
}
