//! `groundwork serve`: a pod answers from a revision in a server, knows its callers, obeys its policy and ends in order.
#![allow(clippy::unwrap_used, clippy::panic)]

use groundwork_tests::{Pod, Pods, Qdrant, binary};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(60);
const QUESTION: &str = "How many vacation days do full-time employees get?";

fn pods(url: &str) -> Pods {
    let pods = Pods::in_qdrant(url).unwrap();
    let text = "# Leave\n\nFull-time employees get 30 vacation days a year.\n\n# Notice\n\nThe notice period is three months.\n";
    pods.write("leave.md", text).unwrap();
    pods
}

fn ingested(pods: &Pods) -> Value {
    let (output, report) = pods.ingest(&[]).unwrap();
    assert!(output.status.success(), "{report}");
    report["revision"].clone()
}

/// A fresh key and its hash, as `groundwork api-key` prints them.
fn new_key() -> (String, String) {
    let output = Command::new(binary().unwrap()).args(["api-key", "-o", "json"]).output().unwrap();
    let made: Value = serde_json::from_slice(&output.stdout).unwrap();
    (made["key"].as_str().unwrap().to_owned(), made["hash"].as_str().unwrap().to_owned())
}

fn quoted((status, answer): &(u16, Value)) -> String {
    assert_eq!((*status, &answer["band"]), (200, &json!("answered")), "{answer}");
    assert!(answer["text"].as_str().unwrap().contains("30 vacation days"), "{answer}");
    answer["citations"][0]["chunk_id"].as_str().unwrap().to_owned()
}

/// Asks until the status is this one.
async fn until_asked(pod: &Pod, key: &str, expected: u16) -> Value {
    let deadline = Instant::now() + LIMIT;
    loop {
        let (status, body) = pod.ask(QUESTION, key).await.unwrap();
        if status == expected {
            return body;
        }
        assert!(Instant::now() < deadline, "{status} instead of {expected}: {body}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn a_pod_answers_from_its_own_revision_and_nothing_else() {
    let Some(server) = Qdrant::start("a_pod_answers_from_its_own_revision_and_nothing_else").await else { return };
    let mut pods = pods(server.url());
    let first = ingested(&pods);
    let serving = pods.serving(&first);
    pods.contract()["chunking"]["childTokens"] = json!(40);
    let second = ingested(&pods);
    assert_ne!(first, second);
    std::fs::remove_dir_all(pods.data()).unwrap();

    let pod = Pod::start(pods.place(), &serving, &[]).await.unwrap();
    let ready = pod.until("it is ready", |status, _| status == 200).await.unwrap();
    assert_eq!((&ready["revisions"]["handbook"], &ready["ready"]), (&first, &json!(true)), "{ready}");
    assert_eq!(ready["config"].as_str().map(str::len), Some(64), "{ready}");
    let chunk = quoted(&pod.ask(QUESTION, "").await.unwrap());
    let elsewhere = pod.request("GET", &format!("/v1/chunks/{chunk}"), "").unwrap().header("host", "answers.example");
    assert_eq!(elsewhere.send().await.unwrap().status().as_u16(), 200, "any name leads here");
    let (status, documents) = pod.get("/v1/documents", "").await.unwrap();
    assert_eq!((status, &documents["documents"][0]["document"]), (200, &json!("policies/leave.md")), "{documents}");
    for (path, expected) in [("/v1/sync", 404), ("/readyz", 404), ("/healthz", 404), ("/metrics", 404)] {
        assert_eq!(pod.get(path, "").await.unwrap().0, expected, "{path}");
    }
    let (_, description) = pod.get("/openapi.json", "").await.unwrap();
    assert!(description["paths"]["/v1/ask"].is_object() && description["paths"]["/v1/sync"].is_null());
    assert_eq!(pod.request("GET", "/", "").unwrap().send().await.unwrap().status().as_u16(), 200);
}

#[tokio::test]
async fn a_pod_is_not_ready_before_its_collection_answers_or_once_it_is_gone() {
    let test = "a_pod_is_not_ready_before_its_collection_answers_or_once_it_is_gone";
    let Some(server) = Qdrant::start(test).await else { return };
    let pods = pods(server.url());
    let revision = ingested(&pods);
    let mut early = pods.serving(&revision);
    early["revisions"]["handbook"]["collection"] =
        json!("groundwork-00000000000000000000000000000000-0000000000000000");
    let pod = Pod::start(pods.place(), &early, &[]).await.unwrap();
    let body =
        pod.until("it has looked", |_, body| body["dependencies"][1]["detail"] != "it has not answered yet").await;
    let (status, body) = (pod.ready().await.unwrap().0, body.unwrap());
    assert_eq!((status, &body["dependencies"][1]["ready"]), (503, &json!(false)), "{body}");
    assert_eq!(body["dependencies"][1]["name"], "knowledge base handbook");

    let pod = Pod::start(pods.place(), &pods.serving(&revision), &[]).await.unwrap();
    pod.until("it is ready", |status, _| status == 200).await.unwrap();
    assert!(pods.command(&["store", "delete", "--yes"]).unwrap().output().unwrap().status.success());
    let gone = pod.until("it is not ready any more", |status, _| status == 503).await.unwrap();
    assert_eq!(gone["dependencies"][1]["ready"], false, "{gone}");
    let (status, failed) = pod.ask(QUESTION, "").await.unwrap();
    assert_eq!((status, &failed["error"]["code"]), (500, &json!("internal")), "{failed}");
}

fn write_policy(file: &Path, limits: &Value) {
    std::fs::write(file, json!({"name": "strict", "limits": limits}).to_string()).unwrap();
}

#[tokio::test]
async fn keys_rotate_and_the_policy_tightens_without_a_restart() {
    let Some(server) = Qdrant::start("keys_rotate_and_the_policy_tightens_without_a_restart").await else { return };
    let pods = pods(server.url());
    let mut serving = pods.serving(&ingested(&pods));
    let keys = pods.place().join("keys");
    std::fs::create_dir(&keys).unwrap();
    serving["authentication"] = json!({"apiKeys": {"folder": keys}});
    let (key, hash) = new_key();
    std::fs::write(keys.join("alice"), format!("# first\n{hash}\n")).unwrap();
    let policy = pods.place().join("policy.json");
    let limits = json!({"wallClockMs": 60_000, "tokens": null, "costMicros": null, "requestsPerMinute": null, "concurrency": null});
    write_policy(&policy, &limits);

    let pod = Pod::start(pods.place(), &serving, &["--policy", policy.to_str().unwrap()]).await.unwrap();
    let wide = pod.until("it is ready", |status, _| status == 200).await.unwrap()["policy"].clone();
    let refused =
        pod.request("POST", "/v1/ask", "").unwrap().json(&json!({"question": QUESTION})).send().await.unwrap();
    assert_eq!(refused.headers()["www-authenticate"], "Bearer realm=\"groundwork\"");
    assert_eq!(refused.status().as_u16(), 401);
    assert_eq!(refused.json::<Value>().await.unwrap()["error"]["code"], "unauthenticated");
    assert_eq!(pod.get("/v1/documents", "gwk_guess").await.unwrap().0, 401);
    quoted(&pod.ask(QUESTION, &key).await.unwrap());

    let (newer, hash) = new_key();
    std::fs::write(keys.join("alice"), format!("{hash}\n")).unwrap();
    until_asked(&pod, &key, 401).await;
    quoted(&pod.ask(QUESTION, &newer).await.unwrap());
    std::fs::remove_file(keys.join("alice")).unwrap();
    until_asked(&pod, &newer, 401).await;
    let (status, body) = pod.ready().await.unwrap();
    let told = body["dependencies"].as_array().unwrap().iter().find(|one| one["name"] == "keys").unwrap();
    assert_eq!((status, &told["ready"]), (200, &json!(false)), "{body}");
    std::fs::write(keys.join("alice"), format!("{hash}\n")).unwrap();
    until_asked(&pod, &newer, 200).await;

    let mut strict = limits.clone();
    strict["requestsPerMinute"] = json!(1);
    write_policy(&policy, &strict);
    let tightened = pod.until("the policy is another one", |_, body| body["policy"] != wide).await.unwrap();
    quoted(&pod.ask(QUESTION, &newer).await.unwrap());
    let (status, throttled) = pod.ask(QUESTION, &newer).await.unwrap();
    assert_eq!(status, 429, "{throttled}");

    std::fs::write(&policy, "{\"limits\":").unwrap();
    let denied = until_asked(&pod, &newer, 503).await;
    let message = denied["error"]["message"].as_str().unwrap();
    assert!(message.contains("policy.json") && message.contains("rule unreadable"), "{message}");
    let (status, body) = pod.ready().await.unwrap();
    assert_eq!((status, &body["policy"]), (200, &Value::Null), "{body}");
    let metrics = pod.metrics().await.unwrap();
    assert!(metrics.contains("groundwork_policy_refusals_total{rule=\"unreadable\"}"), "{metrics}");
    assert!(!metrics.contains("groundwork_policy_in_force{"), "{metrics}");

    write_policy(&policy, &strict);
    pod.until("the policy is back", |_, body| body["policy"] == tightened["policy"]).await.unwrap();
    assert!([200, 429].contains(&pod.ask(QUESTION, &newer).await.unwrap().0));
    let hash = tightened["policy"].as_str().unwrap();
    assert!(pod.metrics().await.unwrap().contains(&format!("groundwork_policy_in_force{{hash=\"{hash}\"}} 1")));
}

#[tokio::test]
async fn what_is_under_way_is_answered_after_sigterm() {
    let Some(server) = Qdrant::start("what_is_under_way_is_answered_after_sigterm").await else { return };
    let pods = pods(server.url());
    let mut serving = pods.serving(&ingested(&pods));
    let model = TcpListener::bind("127.0.0.1:0").unwrap();
    serving["config"]["pipeline"]["chat"] = json!("model");
    serving["config"]["endpoints"] = json!([{
        "name": "model", "baseUrl": format!("http://{}/v1", model.local_addr().unwrap()), "model": "m",
        "uses": ["Chat"], "apiKeyFile": null, "apiKeyEnv": null, "timeoutMs": 60_000, "retries": 0,
        "requestsPerMinute": null, "concurrency": 4, "contextWindow": null, "prices": null,
    }]);
    let mut pod = Pod::start(pods.place(), &serving, &[]).await.unwrap();
    pod.until("it is ready", |status, _| status == 200).await.unwrap();
    let asked = pod.request("POST", "/v1/ask", "").unwrap().json(&json!({"question": QUESTION}));
    let asked = tokio::spawn(asked.send());
    let mut asking = tokio::task::spawn_blocking(move || model.accept()).await.unwrap().unwrap().0;

    let id = pod.process.id().to_string();
    assert!(Command::new("kill").args(["-s", "TERM", &id]).status().unwrap().success());
    pod.until("it is not ready any more", |status, _| status == 503).await.unwrap();
    // The model fails, so the documents are quoted.
    let replied = tokio::task::spawn_blocking(move || {
        let _ = asking.read(&mut [0; 4096]);
        asking.write_all(b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
    });
    replied.await.unwrap().unwrap();
    let response = asked.await.unwrap().unwrap();
    let answer = (response.status().as_u16(), response.json().await.unwrap());
    quoted(&answer);
    assert_eq!(answer.1["stop_reason"], "model_failed", "{}", answer.1);
    assert!(pod.process.wait(LIMIT).await.unwrap().success());
}
