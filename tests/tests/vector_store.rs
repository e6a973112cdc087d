//! `groundwork up` with a knowledge base in a Qdrant server: the same manifests, the same answers.
#![allow(clippy::unwrap_used, clippy::panic)]

use groundwork_tests::{Groundwork, Qdrant};
use serde_json::json;
use std::path::Path;

fn manifest(url: &str) -> String {
    format!(
        "apiVersion: groundwork.dev/v1alpha1\nkind: KnowledgeBase\nmetadata:\n  name: handbook\nspec:\n  sources:\n  - \
         name: policies\n    type: PersistentVolumeClaim\n    persistentVolumeClaim:\n      claimName: policies\n  \
         embedding:\n    type: Hashing\n    hashing:\n      dimensions: 64\n  vectorStore:\n    type: Qdrant\n    qdrant:\n      \
         url: {url}\n      hnsw:\n        m: 8\n        efConstruct: 64\n"
    )
}

async fn answer(groundwork: &Groundwork, question: &str) -> (String, Vec<String>) {
    let (status, answer) = groundwork.post("/v1/ask", &json!({"question": question})).await.unwrap();
    assert_eq!((status, &answer["band"]), (200, &json!("answered")), "{answer}");
    let chunks = answer["citations"].as_array().unwrap().iter().map(|one| one["chunk_id"].as_str().unwrap().to_owned());
    (answer["text"].as_str().unwrap().to_owned(), chunks.collect())
}

fn write(folder: &Path, days: u32) {
    let text = format!(
        "# Leave\n\nFull-time employees get {days} vacation days a year.\n\n# Notice\n\nThe notice period is three months.\n"
    );
    std::fs::write(folder.join("policies/leave.md"), text).unwrap();
}

#[tokio::test]
async fn a_folder_is_answered_from_a_server_and_follows_its_changes() {
    let test = "a_folder_is_answered_from_a_server_and_follows_its_changes";
    let Some(server) = Qdrant::start(test).await else { return };
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("policies")).unwrap();
    std::fs::write(folder.path().join("handbook.yaml"), manifest(server.url())).unwrap();
    write(folder.path(), 30);
    let mut groundwork = Groundwork::up(folder.path(), &["--no-watch"]).await.unwrap();
    groundwork.wait_until_idle().await.unwrap();

    let question = "How many vacation days do full-time employees get?";
    let (text, chunks) = answer(&groundwork, question).await;
    assert!(text.contains("30 vacation days"), "{text}");
    let (status, chunk) = groundwork.get(&format!("/v1/chunks/{}", chunks[0])).await.unwrap();
    assert_eq!(status, 200, "{chunk}");

    write(folder.path(), 32);
    let (status, report) = groundwork.post("/v1/sync", &json!({"wait_for_vectors": true})).await.unwrap();
    assert_eq!(status, 200, "{report}");
    let (text, _) = answer(&groundwork, question).await;
    assert!(text.contains("32 vacation days") && !text.contains("30"), "{text}");
    let (status, gone) = groundwork.get(&format!("/v1/chunks/{}", chunks[0])).await.unwrap();
    assert_eq!(status, 410, "{gone}");
    assert!(groundwork.stop().await.unwrap().success());
}
