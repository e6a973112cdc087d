use anyhow::{Result, bail};
use groundwork_cluster_tests::faults::{Entry, Verb};
use groundwork_cluster_tests::{Fate, Kubelet, User};
use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::stage::{Stage, secret};

const BASES: &str = "knowledgebases";
/// Secret of the store, which comes late.
const STORE: &str = "store-key";
const SYNCED: [&str; 3] = ["Synced", "True", "Complete"];

/// A knowledge base comes before its Secret; it is ingested, changed, cut in another way, broken and repaired; another one
/// comes and is deleted.
pub(crate) struct KnowledgeBases;

impl Scenario for KnowledgeBases {
    async fn play(&self, stage: &Stage<'_>) -> Result<()> {
        let client = stage.plane.client(User::Admin).await?;
        let _kubelet = Kubelet::run(client, &stage.namespace, |ingestion| Fate::complete(ingestion, 2));
        let [one, two] = ["One.", "Two."].map(|text| knowledge_base("notes", text, json!({})));
        stage.apply(&one).await?;
        stage.reaches(BASES, "notes", ["ResolvedRefs", "False", "SecretNotFound"]).await?;
        stage.apply(&secret(STORE)).await?;
        let first = synced_after(stage, "notes", &Value::Null).await?;
        stage.apply(&two).await?;
        let second = synced_after(stage, "notes", &first).await?;
        let cut = |sync: Value| {
            let mut base = knowledge_base("notes", "Two.", json!({"childTokens": 50}));
            base["spec"]["sync"] = sync;
            base
        };
        stage.apply(&cut(json!({"maxDeletePercent": 40}))).await?;
        synced_after(stage, "notes", &second).await?;
        stage.apply(&cut(json!({"maxDeletePercent": 40, "schedule": "61 0 * * *"}))).await?;
        stage.reaches(BASES, "notes", ["Stalled", "True", "Invalid"]).await?;
        stage.apply(&cut(json!({"maxDeletePercent": 40}))).await?;
        stage.reaches(BASES, "notes", ["Stalled", "False", "Progressing"]).await?;
        stage.reaches(BASES, "notes", SYNCED).await?;
        stage.apply(&knowledge_base("other", "Three.", json!({}))).await?;
        synced_after(stage, "other", &Value::Null).await?;
        stage.delete(BASES, "other").await?;
        stage.gone("jobs", "groundwork.dev/knowledge-base=other").await
    }

    fn looked_again(&self, requests: &[Entry]) -> bool {
        let looks = |entry: &&Entry| {
            entry.call.verb == Verb::Get
                && entry.call.resource == "secrets"
                && entry.call.name == STORE
                && entry.is_applied()
        };
        requests.iter().filter(looks).count() >= 2
    }

    /// Once a revision can be read.
    async fn can_be_ready(&self, _: &Stage<'_>) -> Result<impl Fn(&Value) -> bool> {
        Ok(|object: &Value| object["status"]["activeRevision"].is_string())
    }
}

/// Its data id is given: configurations and the names that are made of them do not differ from one run to the next.
fn knowledge_base(name: &str, text: &str, chunking: Value) -> Value {
    json!({
        "apiVersion": "groundwork.dev/v1alpha1", "kind": "KnowledgeBase", "metadata": {"name": name},
        "spec": {
            "dataId": "6f1c2b7e-3d7a-5c1e-9b57-0a4be1d2c3f4",
            "sources": [{"name": "notes", "type": "Inline", "inline": {"documents": [{"path": "a.md", "content": text}]}}],
            "chunking": chunking,
            "embedding": {"type": "Hashing", "hashing": {"dimensions": 64}},
            "vectorStore": {"type": "Qdrant", "qdrant": {
                "url": "http://qdrant.example:6334",
                "credentials": {"secretKeyRef": {"name": STORE, "key": "api-key"}},
            }},
        },
    })
}

/// Waits until an ingestion of another configuration than that of `before` is complete.
async fn synced_after(stage: &Stage<'_>, name: &str, before: &Value) -> Result<Value> {
    stage
        .plane
        .wait_until(&format!("{name} is ingested"), async || {
            let object = stage.object(BASES, name).await?;
            let (now, then) = (&object["status"]["lastSync"], &before["status"]["lastSync"]);
            if now["configHash"].is_string() && now["configHash"] != then["configHash"] {
                return Ok(true);
            }
            bail!("{}", object["status"])
        })
        .await?;
    stage.reaches(BASES, name, ["Reconciling", "False", "Reconciled"]).await?;
    stage.reaches(BASES, name, SYNCED).await
}
