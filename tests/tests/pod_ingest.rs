//! `groundwork ingest --config`: what a Job does with a knowledge base, and what it leaves for who started it.
#![allow(clippy::unwrap_used, clippy::panic)]

use groundwork_tests::{Pods, Qdrant};
use serde_json::{Value, json};
use std::net::TcpListener;
use std::process::Output;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(60);

fn succeeded((output, report): (Output, Value)) -> Value {
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && report["complete"] == true, "{report}\n{told}");
    report
}

/// The problem of an ingestion that is not complete.
fn failed((output, report): (Output, Value)) -> String {
    assert_eq!((output.status.code(), &report["complete"]), (Some(1), &json!(false)), "{report}");
    report["problem"].as_str().unwrap().to_owned()
}

fn counts(report: &Value) -> [&Value; 3] {
    ["documents", "chunks", "vectors"].map(|what| &report[what])
}

fn changes(report: &Value) -> [u64; 5] {
    ["added", "updated", "removed", "unchanged", "failed"].map(|what| report[what].as_u64().unwrap())
}

/// Documents of several sections, so that chunks depend on the contract.
fn document(number: usize) -> String {
    let section =
        |at: usize| format!("## Rule {at}\n\n{}\n\n", format!("Rule {at} of policy {number} holds. ").repeat(12));
    format!("# Policy {number}\n\n{}", (0..3).map(section).collect::<String>())
}

fn written(pods: &Pods, documents: usize) {
    for number in 0..documents {
        pods.write(&format!("{number}.md"), &document(number)).unwrap();
    }
}

fn reports_follow_the_documents(mut pods: Pods) {
    written(&pods, 4);
    pods.write("broken.pdf", "%PDF-1.7 and nothing that a PDF has").unwrap();
    let first = succeeded(pods.ingest(&[]).unwrap());
    assert_eq!(changes(&first), [4, 0, 0, 0, 1], "{first}");
    assert_eq!(first["failures"][0]["document"], "policies/broken.pdf", "{first}");
    assert!(first["vectors"] == first["chunks"] && first["embedded"].as_u64() > Some(0), "{first}");
    let (config, revision) = (first["config"].as_str().unwrap(), first["revision"].as_str().unwrap());
    assert_eq!((config.len(), revision.len()), (64, 16), "{first}");

    let again = succeeded(pods.ingest(&[]).unwrap());
    assert_eq!(changes(&again), [0, 0, 0, 4, 1], "{again}");
    assert_eq!((counts(&again), &again["embedded"]), (counts(&first), &json!(0)), "{again}");

    pods.write("0.md", &document(100)).unwrap();
    let changed = succeeded(pods.ingest(&[]).unwrap());
    assert_eq!(changes(&changed), [0, 1, 0, 3, 1], "{changed}");

    pods.contract()["chunking"]["childTokens"] = json!(40);
    let rebuilt = succeeded(pods.ingest(&[]).unwrap());
    assert_ne!(rebuilt["revision"], first["revision"], "{rebuilt}");
    assert_ne!(rebuilt["config"], first["config"], "{rebuilt}");
    assert!(
        rebuilt["chunks"].as_u64() > first["chunks"].as_u64() && rebuilt["vectors"] == rebuilt["chunks"],
        "{rebuilt}"
    );
}

#[tokio::test]
async fn a_knowledge_base_in_a_server_is_brought_up_to_date_and_rebuilt() {
    let test = "a_knowledge_base_in_a_server_is_brought_up_to_date_and_rebuilt";
    let Some(server) = Qdrant::start(test).await else { return };
    reports_follow_the_documents(Pods::in_qdrant(server.url()).unwrap());
}

#[test]
fn a_knowledge_base_in_a_file_is_brought_up_to_date_and_rebuilt() {
    reports_follow_the_documents(Pods::new(json!("embedded")).unwrap());
}

#[tokio::test]
async fn a_killed_ingestion_is_finished_by_the_next_one() {
    let Some(server) = Qdrant::start("a_killed_ingestion_is_finished_by_the_next_one").await else { return };
    let undisturbed = Pods::in_qdrant(server.url()).unwrap();
    written(&undisturbed, 120);
    let expected = succeeded(undisturbed.ingest(&[]).unwrap());
    let pods = Pods::in_qdrant(server.url()).unwrap();
    written(&pods, 120);
    let mut killed = 0;
    for round in 0..5 {
        let mut process = pods.start_ingest().unwrap();
        tokio::time::sleep(Duration::from_millis(150 + 150 * round)).await;
        killed += u32::from(process.is_running().unwrap());
        process.kill().unwrap();
    }
    assert!(killed > 0, "every round ended before it was killed");
    let last = succeeded(pods.ingest(&[]).unwrap());
    assert_eq!(counts(&last), counts(&expected), "{last}");
    let again = succeeded(pods.ingest(&[]).unwrap());
    assert_eq!(changes(&again), [0, 0, 0, 120, 0], "{again}");
}

/// A knowledge base whose model takes connections and never answers; they come out of the listener.
fn with_a_silent_model() -> (Pods, TcpListener) {
    let model = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut pods = Pods::new(json!("embedded")).unwrap();
    written(&pods, 2);
    pods.contract()["embedding"] = json!({"endpoint": {
        "endpoint": "model", "model": "m", "dimensions": 8, "queryPrefix": "", "passagePrefix": "", "maxBatch": 8,
    }});
    pods.ingestion["endpoints"] = json!([{
        "name": "model", "baseUrl": format!("http://{}/v1", model.local_addr().unwrap()), "model": "m",
        "uses": ["Embeddings"], "apiKeyFile": null, "apiKeyEnv": null, "timeoutMs": 60_000, "retries": 0,
        "requestsPerMinute": null, "concurrency": 1, "contextWindow": null, "prices": null,
    }]);
    (pods, model)
}

#[tokio::test]
async fn a_signal_ends_it_with_a_report_and_a_second_writer_is_refused_meanwhile() {
    let (pods, model) = with_a_silent_model();
    let mut first = pods.start_ingest().unwrap();
    let (_connection, _) = tokio::task::spawn_blocking(move || model.accept()).await.unwrap().unwrap();
    let second = failed(pods.ingest(&[]).unwrap());
    assert!(second.contains(&format!("process {}", first.id())), "{second}");
    let status = first.terminate(LIMIT).await.unwrap();
    let report = pods.report().unwrap();
    assert_eq!((status.code(), &report["complete"]), (Some(1), &json!(false)), "{report}");
    assert!(report["problem"].as_str().unwrap().contains("stopped"), "{report}");
    assert_eq!((changes(&report), &report["vectors"]), ([2, 0, 0, 0, 0], &json!(0)), "{report}");
}

#[test]
fn what_is_gone_at_once_waits_for_a_person() {
    let pods = Pods::new(json!("embedded")).unwrap();
    written(&pods, 20);
    let first = succeeded(pods.ingest(&[]).unwrap());
    (0..15).for_each(|number| std::fs::remove_file(pods.place().join(format!("policies/{number}.md"))).unwrap());
    let held = failed(pods.ingest(&[]).unwrap());
    assert!(held.contains("15 of 20 documents are gone") && held.contains("groundwork.dev/accept-deletes"), "{held}");
    assert_eq!(counts(&pods.report().unwrap()), counts(&first), "nothing is removed");
    let accepted = succeeded(pods.ingest(&["--accept-deletes"]).unwrap());
    assert_eq!(changes(&accepted), [0, 0, 15, 5, 0], "{accepted}");
}

#[test]
fn a_file_that_cannot_be_used_is_a_report_too() {
    let mut pods = Pods::new(json!("embedded")).unwrap();
    pods.ingestion["knowledgeBase"]["graph"] = json!({});
    let newer = failed(pods.ingest(&[]).unwrap());
    assert!(newer.contains("knowledgeBase.graph") && newer.contains("version of the operator"), "{newer}");
    let report = pods.report().unwrap();
    let named = ["config", "revision"].map(|what| report[what].as_str().map(str::len));
    assert_eq!(named, [Some(64), Some(16)], "whoever wrote the file knows the report by them: {report}");
    pods.ingestion["knowledgeBase"].as_object_mut().unwrap().remove("graph");
    pods.ingestion["knowledgeBase"]["sync"]["maxDeletePercent"] = json!("most");
    let wrong = failed(pods.ingest(&[]).unwrap());
    assert!(wrong.contains("knowledgeBase.sync.maxDeletePercent: invalid type") && wrong.contains("line "), "{wrong}");
    pods.ingestion["knowledgeBase"]["sync"]["maxDeletePercent"] = json!(30);
    pods.ingestion["knowledgeBase"]["sources"][0]["kind"]["folder"]["path"] = json!("/does/not/exist");
    let unlisted = failed(pods.ingest(&[]).unwrap());
    assert!(unlisted.contains("policies") && unlisted.contains("/does/not/exist"), "{unlisted}");
}
