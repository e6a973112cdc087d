use anyhow::{Result, ensure};
use groundwork_cluster_tests::faults::{Entry, Verb, oracle};
use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::stage::{Stage, secret};

const ENDPOINTS: &str = "modelendpoints";
pub(crate) const READY: [&str; 3] = ["Ready", "True", "Available"];
/// Secret of the endpoint that waits for it.
pub(crate) const LATE: &str = "late-key";
/// Secret that is there from the beginning.
pub(crate) const EARLY: &str = "early-key";

/// Endpoints come, one before its Secret; the Secret comes; somebody names one; its spec changes; one is deleted.
pub(crate) struct ModelEndpoints;

impl Scenario for ModelEndpoints {
    async fn play(&self, stage: &Stage<'_>) -> Result<()> {
        stage.apply(&secret(EARLY)).await?;
        let (open, waits) = (endpoint("open", "one", None), endpoint("waits", "one", Some(LATE)));
        for object in [open, waits, endpoint("keyed", "one", Some(EARLY))] {
            stage.apply(&object).await?;
        }
        stage.reaches(ENDPOINTS, "open", READY).await?;
        stage.reaches(ENDPOINTS, "waits", ["ResolvedRefs", "False", "SecretNotFound"]).await?;
        stage.reaches(ENDPOINTS, "keyed", READY).await?;
        stage.apply(&secret(LATE)).await?;
        stage.reaches(ENDPOINTS, "waits", READY).await?;
        stage.apply(&user()).await?;
        stage.plane.wait_until("its user is told", async || Ok(users(stage).await? == 1)).await?;
        stage.apply(&endpoint("open", "another", None)).await?;
        stage.reaches(ENDPOINTS, "open", READY).await?;
        stage.delete(ENDPOINTS, "keyed").await
    }

    fn looked_again(&self, requests: &[Entry]) -> bool {
        let looks = |entry: &&Entry| {
            entry.call.verb == Verb::Get
                && entry.call.resource == "secrets"
                && entry.call.name == LATE
                && entry.is_applied()
        };
        requests.iter().filter(looks).count() >= 2
    }

    /// A Secret is made once and stays.
    async fn can_be_ready(&self, stage: &Stage<'_>) -> Result<impl Fn(&Value) -> bool> {
        let since = stage.secret_since(LATE).await?;
        Ok(move |object: &Value| {
            let waits_for = &object["spec"]["apiKey"]["secretKeyRef"]["name"];
            waits_for != LATE || oracle::version(object).is_some_and(|version| version > since)
        })
    }
}

pub(crate) fn endpoint(name: &str, model: &str, secret: Option<&str>) -> Value {
    let mut spec = json!({"baseURL": "http://models.example/v1", "model": model, "uses": ["Chat", "Embeddings"]});
    if let Some(secret) = secret {
        spec["apiKey"] = json!({"secretKeyRef": {"name": secret, "key": "api-key"}});
    }
    json!({"apiVersion": "groundwork.dev/v1alpha1", "kind": "ModelEndpoint", "metadata": {"name": name}, "spec": spec})
}

fn user() -> Value {
    json!({
        "apiVersion": "groundwork.dev/v1alpha1", "kind": "KnowledgeBase", "metadata": {"name": "notes"},
        "spec": {
            "sources": [{"name": "notes", "type": "Inline", "inline": {"documents": [{"path": "a.md", "content": "One."}]}}],
            "embedding": {"type": "ModelEndpoint", "modelEndpoint": {"name": "open", "dimensions": 8}},
        },
    })
}

async fn users(stage: &Stage<'_>) -> Result<i64> {
    let open = stage.object(ENDPOINTS, "open").await?;
    ensure!(open["status"]["users"].is_i64(), "{}", open["status"]);
    Ok(open["status"]["users"].as_i64().unwrap_or_default())
}
