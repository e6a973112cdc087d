//! Every field that only the operator reads has a reader: for each of their leaves, a row changes that leaf in a full
//! knowledge base, and what the operator makes or decides must change with it.

use groundwork_crds::{KnowledgeBase, OPERATOR_FIELDS, definition};
use jiff::Timestamp;
use k8s_openapi::api::batch::v1::Job;
use serde_json::{Value, json};
use std::collections::BTreeSet;

use super::desired;
use super::observe::{Observed, StoredRevision};
use super::validate::{Asked, validate};
use crate::fields::{leaves, set};
use crate::pods::SOURCES_FOLDER;

const FULL: &str = include_str!("../../../crds/fixtures/full.json");

fn full() -> Value {
    let objects: Vec<Value> = serde_json::from_str(FULL).unwrap();
    let mut base = objects.into_iter().find(|object| object["metadata"]["name"] == "two").unwrap();
    base["metadata"]["namespace"] = "default".into();
    base["metadata"]["uid"] = "6f1c2b7e-3d7a-5c1e-9b57-0a4be1d2c3f4".into();
    base["metadata"]["annotations"] = json!({"groundwork.dev/rebuild-requested-at": "now"});
    base
}

/// A cluster that has everything but the claim for state, and an active revision of the present spec by an older version.
fn observed(base: &KnowledgeBase) -> Observed {
    let empty = Observed {
        endpoints: Vec::new(),
        keys: Vec::new(),
        claims: Vec::new(),
        state_claim: false,
        active: None,
        job: None,
        pods: Vec::new(),
    };
    let asked = validate(base, &empty).0.unwrap();
    let mut contract = asked.ingestion.knowledge_base.contract;
    contract.chunker_version = 0;
    let active = StoredRevision { contract, spec_hash: asked.spec_hash, rebuild_requested_at: Some("now".into()) };
    Observed { active: Some(active), ..empty }
}

/// All that the operator makes of a knowledge base.
fn made(base: &Value) -> Value {
    let base: KnowledgeBase = serde_json::from_value(base.clone()).unwrap();
    let observed = observed(&base);
    let asked = validate(&base, &observed).0.unwrap();
    let job = desired::job(&base, &asked, &observed, "default:1");
    json!({
        "claim": desired::state_claim(&base),
        "job": job,
        "next": next(&asked),
        "suspended": asked.suspended,
        "revision": asked.wanted.revision,
    })
}

fn next(asked: &Asked) -> Option<String> {
    let after: Timestamp = "2026-01-10T12:00:00Z".parse().unwrap();
    Some(asked.schedule.as_ref()?.next_after(after)?.to_string())
}

/// The leaf's pointer in the spec with its new value, and what must change beside it to stay valid.
type Row = (&'static str, Value, Vec<(&'static str, Value)>);

fn rows() -> Vec<Row> {
    let row = |leaf, value| (leaf, value, Vec::new());
    vec![
        row("rebuild", json!("Always")),
        row("sync/schedule", json!("31 2 * * 1-5")),
        row("sync/timeZone", json!("Asia/Tokyo")),
        row("sync/suspend", json!(true)),
        // There is one type so far, and the struct may be left out.
        ("state/type", json!("PersistentVolumeClaim"), vec![("state/persistentVolumeClaim", Value::Null)]),
        (
            "state/persistentVolumeClaim/claimName",
            json!("mine"),
            vec![
                ("state/persistentVolumeClaim/size", Value::Null),
                ("state/persistentVolumeClaim/storageClassName", Value::Null),
            ],
        ),
        row("state/persistentVolumeClaim/size", json!("3Gi")),
        row("state/persistentVolumeClaim/storageClassName", json!("slow")),
        row("ingestion/image", json!("registry.example/groundwork:2")),
        row("ingestion/imagePullSecrets/0/name", json!("other")),
        row("ingestion/resources/requests/cpu", json!("300m")),
        row("ingestion/resources/requests/memory", json!("1Gi")),
        row("ingestion/resources/requests/ephemeralStorage", json!("2Gi")),
        row("ingestion/resources/limits/cpu", json!("3")),
        row("ingestion/resources/limits/memory", json!("2Gi")),
        row("ingestion/resources/limits/ephemeralStorage", json!("5Gi")),
        row("ingestion/deadlineSeconds", json!(601)),
        row("ingestion/backoffLimit", json!(3)),
    ]
}

#[test]
fn every_leaf_that_only_the_operator_reads_has_a_row() {
    let mut all = BTreeSet::new();
    let schema = definition("KnowledgeBase").unwrap().schema();
    leaves("KnowledgeBase".to_owned(), &schema["properties"]["spec"], &mut all);
    all.retain(|path| OPERATOR_FIELDS.iter().any(|field| path.starts_with(field)));
    let found: BTreeSet<String> = rows()
        .iter()
        .map(|(leaf, ..)| format!("KnowledgeBase.{}", leaf.replace("/0", "[]").replace('/', ".")))
        .collect();
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
fn the_job_runs_under_the_restricted_profile_and_reads_what_the_configuration_names() {
    let mut base = full();
    base["spec"]["sources"] = json!([
        {"name": "files", "type": "PersistentVolumeClaim", "persistentVolumeClaim": {"claimName": "docs", "path": "a/b"}},
    ]);
    let base: KnowledgeBase = serde_json::from_value(base).unwrap();
    let observed = observed(&base);
    let asked = validate(&base, &observed).0.unwrap();
    let mut job: Job = desired::job(&base, &asked, &observed, "default:1");
    // Hashes of what the configuration says.
    job.metadata.annotations = None;
    let configuration = &mut job.spec.as_mut().unwrap().template.spec.as_mut().unwrap().volumes.as_mut().unwrap()[0];
    configuration.config_map.as_mut().unwrap().name.truncate("kb-two-ingest-".len());
    insta::assert_yaml_snapshot!("ingestion_job", job);
    let source = &asked.ingestion.knowledge_base.sources[0];
    let path = format!("{}/files/a/b", SOURCES_FOLDER);
    assert_eq!(serde_json::to_value(&source.kind).unwrap(), json!({"folder": {"path": path}}));
}
