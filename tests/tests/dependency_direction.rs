//! Dependencies point one way (see docs/adr/0010-dependency-direction.md): each crate is resolved by itself, without the features that others
//! switch on, and everything below it is looked at.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Names of all packages that a crate needs to build for use, itself included.
fn needed_by(package: &str, features: &[&str]) -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the harness lies in the workspace");
    let features = features.join(",");
    let output = Command::new(env!("CARGO"))
        .current_dir(root)
        .args(["tree", "--locked", "--offline", "--edges", "normal", "--prefix", "none", "--format", "{p}"])
        .args(["--no-default-features", "--features", &features, "--package", package])
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("names of packages are UTF-8");
    text.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

fn ours(packages: &BTreeSet<String>) -> Vec<&str> {
    packages.iter().map(String::as_str).filter(|name| name.starts_with("groundwork")).collect()
}

#[test]
fn crates_of_the_workspace_depend_only_downwards() {
    let rows: [(&str, &[&str], &[&str]); 8] = [
        ("groundwork-crds", &[], &["groundwork-crds"]),
        ("groundwork-config", &[], &["groundwork-config"]),
        ("groundwork-config", &["compile"], &["groundwork-config", "groundwork-crds"]),
        ("groundwork-endpoint", &[], &["groundwork-config", "groundwork-endpoint"]),
        ("groundwork-policy", &[], &["groundwork-config", "groundwork-policy"]),
        (
            "groundwork-agent",
            &[],
            &["groundwork-agent", "groundwork-config", "groundwork-endpoint", "groundwork-policy"],
        ),
        ("groundwork-extract", &[], &["groundwork-extract"]),
        ("groundwork-operator", &[], &["groundwork-config", "groundwork-crds", "groundwork-operator"]),
    ];
    for (package, features, expected) in rows {
        assert_eq!(ours(&needed_by(package, features)), expected, "{package} with {features:?}");
    }
    let knowledge = needed_by("groundwork-knowledge", &[]);
    let allowed = ["groundwork-config", "groundwork-endpoint", "groundwork-knowledge"];
    assert!(ours(&knowledge).iter().all(|name| allowed.contains(name)), "{:?}", ours(&knowledge));
}

#[test]
fn nothing_heavy_or_foreign_reaches_a_crate_that_must_not_have_it() {
    let cluster = ["axum", "kube", "kube-core", "kube-client", "kube-runtime", "k8s-openapi"];
    let stores = ["qdrant-client", "tantivy", "sqlx", "neo4rs"];
    let clients = ["kube-client", "kube-runtime", "tokio", "reqwest", "hyper"];
    let rows: [(&str, &[&str], &[&str]); 6] = [
        ("groundwork", &[], &["kube-client", "kube-runtime", "qdrant-client", "tonic", "prost"]),
        ("groundwork-knowledge", &[], &cluster),
        ("groundwork-agent", &[], &cluster),
        ("groundwork-operator", &[], &stores),
        ("groundwork-crds", &["cel"], &clients),
        ("groundwork-config", &["compile"], &clients),
    ];
    for (package, features, forbidden) in rows {
        let needed = needed_by(package, features);
        let found: Vec<_> = forbidden.iter().filter(|name| needed.contains(**name)).collect();
        assert!(found.is_empty(), "{package} needs {found:?}");
    }
}

#[test]
fn the_look_below_a_crate_sees_what_is_there() {
    let runtime = needed_by("groundwork", &[]);
    for expected in ["groundwork-agent", "groundwork-knowledge", "groundwork-crds", "axum", "tantivy", "kube-core"] {
        assert!(runtime.contains(expected), "{expected}");
    }
    assert!(needed_by("groundwork", &["qdrant"]).contains("qdrant-client"), "the feature brings the client");
}
