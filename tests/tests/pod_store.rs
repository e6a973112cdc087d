//! `groundwork store`: the collections of knowledge bases in a Qdrant server, looked after by a person or a Job.
#![allow(clippy::unwrap_used, clippy::panic)]

use groundwork_tests::{Pods, Qdrant, binary};
use serde_json::{Value, json};
use std::process::{Command, Output};

fn ran(mut command: Command, code: i32) -> Output {
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{told}");
    output
}

fn store(pods: &Pods, arguments: &[&str]) -> Value {
    let arguments = [&["store", "-o", "json"], arguments].concat();
    serde_json::from_slice(&ran(pods.command(&arguments).unwrap(), 0).stdout).unwrap()
}

fn orphans(url: &str, known: &[&str]) -> Vec<Value> {
    let mut command = Command::new(binary().unwrap());
    command.args(["store", "orphans", "-o", "json", "--url", url]);
    for id in known {
        command.args(["--known", id]);
    }
    let output: Value = serde_json::from_slice(&ran(command, 0).stdout).unwrap();
    output["collections"].as_array().unwrap().clone()
}

fn ingested(pods: &Pods) -> String {
    let (output, report) = pods.ingest(&[]).unwrap();
    assert!(output.status.success(), "{report}");
    report["revision"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn collections_are_made_kept_found_and_removed() {
    let Some(server) = Qdrant::start("collections_are_made_kept_found_and_removed").await else { return };
    let mut pods = Pods::in_qdrant(server.url()).unwrap();
    let data_id = pods.data_id().to_owned();
    pods.write("leave.md", "# Leave\n\nFull-time employees get 30 vacation days a year.\n").unwrap();
    let provisioned = store(&pods, &["provision"]);
    assert_eq!(store(&pods, &["provision"]), provisioned);
    let first = ingested(&pods);
    assert_eq!(provisioned["revision"], first.as_str());
    pods.contract()["chunking"]["childTokens"] = json!(40);
    let second = ingested(&pods);

    let found = orphans(server.url(), &[]);
    let ours: Vec<&Value> = found.iter().filter(|one| one["data_id"] == data_id.as_str()).collect();
    assert_eq!(ours.len(), 2, "{found:?}");
    assert!(ours.iter().all(|one| one["documents"] == 1 && one["chunks"].as_u64() > Some(0)), "{ours:?}");
    assert!(!orphans(server.url(), &[&data_id]).iter().any(|one| one["data_id"] == data_id.as_str()));

    let would = store(&pods, &["prune", "--keep", &second, "--dry-run"]);
    assert_eq!(would, json!({"removed": [first], "kept": [second], "dry_run": true}));
    let pruned = store(&pods, &["prune", "--keep", &second]);
    assert_eq!(pruned, json!({"removed": [first], "kept": [second], "dry_run": false}));
    assert_eq!(store(&pods, &["prune", "--keep", &second])["removed"], json!([]));
    let (_, again) = pods.ingest(&[]).unwrap();
    assert_eq!((&again["complete"], &again["unchanged"]), (&json!(true), &json!(1)), "{again}");

    let refused = ran(pods.command(&["store", "delete"]).unwrap(), 1);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--yes"));
    assert_eq!(store(&pods, &["delete", "--dry-run"])["removed"], json!([second]));
    assert_eq!(store(&pods, &["delete", "--yes"])["removed"], json!([second]));
    assert!(!orphans(server.url(), &[]).iter().any(|one| one["data_id"] == data_id.as_str()));
    let (_, anew) = pods.ingest(&[]).unwrap();
    assert_eq!((&anew["complete"], &anew["added"]), (&json!(true), &json!(1)), "{anew}");
}

#[test]
fn a_knowledge_base_in_a_file_has_no_collections() {
    let pods = Pods::new(json!("embedded")).unwrap();
    let refused = ran(pods.command(&["store", "provision"]).unwrap(), 1);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("handbook is kept in a file"));
}
