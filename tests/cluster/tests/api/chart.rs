//! The chart: what Helm makes of its values, and whether a real server takes it.

use anyhow::{Context, Result, ensure};
use groundwork_cluster_tests::{ControlPlane, User};
use std::path::Path;

use crate::repository;

/// Values that change what is rendered, one set a line of the matrix.
const MATRIX: [&[&str]; 8] = [
    &[],
    &["watchAllNamespaces=true"],
    &["replicas=1", "networkPolicy.enabled=false"],
    &[
        "runtime.image=registry.example/groundwork:1",
        "ingestion.maxConcurrent=1",
        "runtime.metricsFromNamespaces[0]=monitoring",
    ],
    &["serviceAccount.create=false", "serviceAccount.name=default"],
    &[
        "networkPolicy.metricsFrom[0].namespaceSelector.matchLabels.team=monitoring",
        "priorityClassName=system-cluster-critical",
    ],
    &[
        "image.digest=sha256:0000000000000000000000000000000000000000000000000000000000000000",
        "imagePullSecrets[0].name=registry",
    ],
    &["nameOverride=gw", "podAnnotations.note=x", "tolerations[0].operator=Exists", "operator.logFormat=Text"],
];

/// Values that the schema refuses, with the words that the refusal has.
const REFUSED: [(&str, &str); 7] = [
    ("replicas=0", "replicas"),
    ("replica=3", "replica"),
    ("operator.logFormat=xml", "logFormat"),
    ("operator.leaseSeconds=1", "leaseSeconds"),
    ("ingestion.maxConcurrent=0", "maxConcurrent"),
    ("image.digest=latest", "digest"),
    ("watchAllNamespaces=maybe", "watchAllNamespaces"),
];

fn chart(name: &str) -> Result<String> {
    let path = repository().join("charts").join(name);
    Ok(path.to_str().context("the path is UTF-8")?.to_owned())
}

#[tokio::test]
async fn whatever_the_values_a_real_server_takes_what_is_rendered() -> Result<()> {
    let test = "whatever_the_values_a_real_server_takes_what_is_rendered";
    let Some(plane) = ControlPlane::shared(test).await? else { return Ok(()) };
    let namespace = plane.namespace("chart").await?;
    for name in ["groundwork-crds", "groundwork"] {
        plane.helm(&["lint", "--strict", "--kube-version", "1.34", &chart(name)?]).await?;
    }
    for values in MATRIX {
        let rendered = plane.rendered(&namespace, values).await.with_context(|| format!("{values:?}"))?;
        // Namespaced and cluster-wide objects alike; a rule of the restricted profile refuses pods only when they are made.
        let apply = ["apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-"];
        plane.kubectl_with_input(User::Admin, &apply, &rendered).await.with_context(|| format!("{values:?}"))?;
    }
    Ok(())
}

#[tokio::test]
async fn values_that_mean_nothing_are_refused_by_name() -> Result<()> {
    let test = "values_that_mean_nothing_are_refused_by_name";
    let Some(plane) = ControlPlane::shared(test).await? else { return Ok(()) };
    for (value, word) in REFUSED {
        let error = plane.rendered("any", &[value]).await.err().with_context(|| format!("{value} is taken"))?;
        ensure!(format!("{error:#}").contains(word), "{value}: {error:#}");
    }
    Ok(())
}

/// The operator's pods are made as the restricted profile wants them, so the profile's own admission takes them.
#[tokio::test]
async fn the_operators_pods_fit_the_restricted_profile() -> Result<()> {
    let test = "the_operators_pods_fit_the_restricted_profile";
    let Some(plane) = ControlPlane::shared(test).await? else { return Ok(()) };
    let namespace = plane.namespace("restricted").await?;
    let label = "pod-security.kubernetes.io/enforce=restricted";
    plane.kubectl(User::Admin, &["label", "namespace", &namespace, label]).await?;
    plane.install_operator(&namespace, &[]).await?;
    plane
        .wait_until("both pods are made", async || {
            let pods = plane.kubectl(User::Admin, &["get", "pods", "--namespace", &namespace, "-o", "name"]).await?;
            Ok(pods.lines().count() == 2)
        })
        .await
}

/// Every rule says why it is there.
#[test]
fn every_rule_has_its_reason_beside_it() -> Result<()> {
    let templates = repository().join("charts");
    for file in
        ["groundwork/templates/_helpers.tpl", "groundwork/templates/rbac.yaml", "groundwork-crds/templates/roles.yaml"]
    {
        let text = std::fs::read_to_string(templates.join(file))?;
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let rules: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].starts_with("- apiGroups:")).collect();
        ensure!(!rules.is_empty(), "{file} has rules");
        for at in rules {
            ensure!(at > 0 && lines[at - 1].starts_with("# "), "{file}:{}: {}", at + 1, lines[at]);
        }
    }
    ensure!(Path::new(&chart("groundwork")?).join("values.schema.json").is_file());
    Ok(())
}
