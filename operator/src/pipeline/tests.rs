//! Every field that only the operator reads has a reader: for each of their leaves, a row changes that leaf in a full
//! pipeline, and what the operator makes must change with it.

use groundwork_config::{Contract, revision_id};
use groundwork_crds::{AgentPipeline, KnowledgeBase, OPERATOR_FIELDS, definition};
use serde_json::{Value, json};
use std::collections::BTreeSet;

use super::desired;
use super::observe::Observed;
use super::validate::{denial, validate};
use crate::context::Network;
use crate::fields::{leaves, set};

const FULL: &str = include_str!("../../../crds/fixtures/full.json");

/// A full pipeline over the one knowledge base that a cluster can have.
fn full() -> Value {
    let mut pipeline = object("all");
    pipeline["metadata"]["namespace"] = "default".into();
    pipeline["metadata"]["uid"] = "7f1c2b7e-3d7a-5c1e-9b57-0a4be1d2c3f4".into();
    pipeline["spec"]["knowledgeBases"] = json!([{"name": "two"}]);
    pipeline
}

fn object(name: &str) -> Value {
    let objects: Vec<Value> = serde_json::from_str(FULL).unwrap();
    objects.into_iter().find(|object| object["metadata"]["name"] == name).unwrap()
}

fn observed() -> Observed {
    let mut base = object("two");
    base["metadata"]["namespace"] = "default".into();
    base["metadata"]["uid"] = "6f1c2b7e-3d7a-5c1e-9b57-0a4be1d2c3f4".into();
    let base: KnowledgeBase = serde_json::from_value(base).unwrap();
    let mut chat = object("chat");
    chat["metadata"]["namespace"] = "default".into();
    let mut policy = object("narrow");
    policy["metadata"]["namespace"] = "default".into();
    Observed {
        bases: vec![base],
        contracts: [("two".to_owned(), Contract::default())].into(),
        endpoints: vec![serde_json::from_value(chat).unwrap()],
        policy: Some(serde_json::from_value(policy).unwrap()),
        keys: Vec::new(),
        caller_keys: Some(true),
        deployment: None,
    }
}

fn pipeline(value: &Value) -> AgentPipeline {
    serde_json::from_value(value.clone()).unwrap()
}

fn made(value: &Value) -> Value {
    let (pipeline, observed) = (pipeline(value), observed());
    let asked = validate(&pipeline, &observed).0.unwrap();
    json!([
        desired::deployment(&pipeline, &asked, &observed, "default:1"),
        desired::network_policy(&pipeline, &asked, &settings()),
    ])
}

fn settings() -> Network {
    Network { operator_namespace: "groundwork".to_owned(), metrics_from: vec!["monitoring".to_owned()] }
}

type Row = (&'static str, Value, Vec<(&'static str, Value)>);

fn rows() -> Vec<Row> {
    let row = |leaf, value| (leaf, value, Vec::new());
    vec![
        ("authentication/type", json!("None"), vec![("authentication/apiKeys", Value::Null)]),
        row("authentication/apiKeys/secretRef/name", json!("others")),
        row("runtime/image", json!("registry.example/groundwork:2")),
        row("runtime/imagePullSecrets/0/name", json!("other")),
        row("runtime/replicas", json!(3)),
        row("runtime/resources/requests/cpu", json!("300m")),
        row("runtime/resources/requests/memory", json!("1Gi")),
        row("runtime/resources/requests/ephemeralStorage", json!("2Gi")),
        row("runtime/resources/limits/cpu", json!("3")),
        row("runtime/resources/limits/memory", json!("2Gi")),
        row("runtime/resources/limits/ephemeralStorage", json!("5Gi")),
        row("expose/from/0/namespace", json!("other")),
        row("expose/from/0/podLabels", json!({"app": "other"})),
        row("expose/from/1/cidr", json!("198.51.100.0/24")),
    ]
}

#[test]
fn every_leaf_that_only_the_operator_reads_has_a_row() {
    let mut all = BTreeSet::new();
    let schema = definition("AgentPipeline").unwrap().schema();
    leaves("AgentPipeline".to_owned(), &schema["properties"]["spec"], &mut all);
    all.retain(|path| OPERATOR_FIELDS.iter().any(|field| path.starts_with(field)));
    let path = |leaf: &str| format!("AgentPipeline.{}", leaf.replace("/0", "[]").replace("/1", "[]").replace('/', "."));
    let found: BTreeSet<String> = rows().iter().map(|(leaf, ..)| path(leaf)).collect();
    assert_eq!(found, all);
}

#[test]
fn changing_any_of_them_changes_what_is_made() {
    let before = made(&full());
    for (leaf, value, beside) in rows() {
        let mut changed = full();
        set(&mut changed, leaf, value);
        beside.into_iter().for_each(|(pointer, value)| set(&mut changed, pointer, value));
        assert_ne!(made(&changed), before, "nobody reads {leaf}");
    }
}

#[test]
fn pods_read_one_revision_and_no_source() {
    let (pipeline, observed) = (pipeline(&full()), observed());
    let asked = validate(&pipeline, &observed).0.unwrap();
    assert_eq!(asked.revisions[0].revision, revision_id(&Contract::default()));
    assert_eq!(asked.serving.revisions["two"].contract, Contract::default());
    assert!(asked.serving.config.knowledge_bases[0].sources.is_empty());
}

#[test]
fn pods_are_reached_by_whom_the_manifest_names_and_reach_what_it_names() {
    let (pipeline, observed) = (pipeline(&full()), observed());
    let asked = validate(&pipeline, &observed).0.unwrap();
    insta::assert_yaml_snapshot!("network_policy", desired::network_policy(&pipeline, &asked, &settings()));
}

#[test]
fn another_limit_is_no_rollout_and_a_lost_policy_denies() {
    let (pipeline, mut observed) = (pipeline(&full()), observed());
    let before = validate(&pipeline, &observed).0.unwrap();
    if let Some(limits) = observed.policy.as_mut().and_then(|policy| policy.spec.limits.as_mut()) {
        limits.tokens = Some(1);
    }
    let after = validate(&pipeline, &observed).0.unwrap();
    assert_eq!(before.config_hash, after.config_hash);
    assert_ne!(before.policy.hash(), after.policy.hash());
    assert_eq!(denial(&pipeline, &observed), None);
    observed.policy = None;
    let denied = desired::denial_text(&denial(&pipeline, &observed).unwrap());
    let read = serde_json::from_str::<groundwork_config::Policy>(&denied);
    assert!(read.is_err(), "a pod must not take it for limits: {denied}");
}

#[test]
fn the_pods_run_under_the_restricted_profile() {
    let (pipeline, observed) = (pipeline(&full()), observed());
    let asked = validate(&pipeline, &observed).0.unwrap();
    let mut deployment = desired::deployment(&pipeline, &asked, &observed, "default:1");
    // Hashes of what the configuration says.
    let template = &mut deployment.spec.as_mut().unwrap().template;
    template.metadata.as_mut().unwrap().annotations = None;
    let volumes = template.spec.as_mut().unwrap().volumes.as_mut().unwrap();
    volumes[0].config_map.as_mut().unwrap().name.truncate("ap-all-config-".len());
    insta::assert_yaml_snapshot!("runtime_deployment", deployment);
}
