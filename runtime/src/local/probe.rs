//! Asking a model server what it is, before it is used.

use groundwork_config::Endpoint;
use groundwork_endpoint::EndpointClient;
use serde::Deserialize;
use serde_json::json;
use std::time::Duration;

use crate::output::Problem;

/// A local Ollama answers at once or is not there.
const OLLAMA_TIMEOUT: Duration = Duration::from_millis(300);
const MAX_REPLY: usize = 4 << 20;

/// Length of an endpoint's vectors: of the one for a short text.
pub(super) async fn dimensions(endpoint: &Endpoint) -> Result<u32, Problem> {
    let failed = || {
        Problem::new(format!("failed to ask {} at {} for a vector", endpoint.model, endpoint.base_url))
            .fix("start the model server, or choose `--embedding-model encoder`, which needs none")
    };
    let client = EndpointClient::new(endpoint).map_err(|error| failed().because(error))?;
    let body = json!({ "model": endpoint.model, "input": ["length"] });
    let reply = client.post("/embeddings", &body, MAX_REPLY).await.map_err(|error| failed().because(error))?;
    let reply: Embeddings = serde_json::from_slice(&reply).map_err(|error| failed().because(error))?;
    match reply.data.first().map(|vector| vector.embedding.len()) {
        Some(length @ 1..=65_536) => Ok(length as u32),
        length => Err(failed().because(format!("its vector has {} numbers", length.unwrap_or(0)))),
    }
}

#[derive(Deserialize)]
struct Embeddings {
    data: Vec<Vector>,
}

#[derive(Deserialize)]
struct Vector {
    embedding: Vec<f32>,
}

/// A model of the Ollama on this machine, if it answers and has one: the first that is not for embeddings.
pub(crate) async fn ollama_model() -> Option<String> {
    #[derive(Deserialize)]
    struct Tags {
        models: Vec<Model>,
    }
    #[derive(Deserialize)]
    struct Model {
        name: String,
    }
    let client = reqwest::Client::builder().timeout(OLLAMA_TIMEOUT).no_proxy().build().ok()?;
    let reply = client.get(format!("{}/api/tags", super::models::OLLAMA)).send().await.ok()?;
    let tags: Tags = serde_json::from_slice(&reply.bytes().await.ok()?).ok()?;
    tags.models.into_iter().map(|model| model.name).find(|name| !name.contains("embed"))
}
