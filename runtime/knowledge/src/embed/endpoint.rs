use async_trait::async_trait;
use futures::{StreamExt, TryStreamExt, stream};
use groundwork_config::Endpoint;
use groundwork_endpoint::{CallError, ClientError, EndpointClient, MAX_REPLY_BYTES};
use serde::Deserialize;
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

use super::probe::PROBE_SENTENCES;
use super::{EmbedError, EmbedKind, Embedder, EmbedderProfile, Probes, unit};
use crate::identity::TextHash;

/// Upper bound of the texts handed over at once, so that a failed batch does not throw away minutes of work.
const MAX_TEXTS_A_CALL: usize = 2048;

/// Settings of an embedding endpoint beside its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointEmbedding {
    /// Model name sent with each request.
    pub model: String,
    /// Length that every vector must have.
    pub dimensions: usize,
    /// Put before every query.
    pub query_prefix: String,
    /// Put before every passage.
    pub passage_prefix: String,
    /// Texts a request.
    pub max_batch: usize,
}

/// An OpenAI-compatible `POST {base}/embeddings`. A reply that is not exactly one finite vector of the right length for
/// each text refuses the whole batch.
#[derive(Debug)]
pub struct EndpointEmbedder {
    profile: EmbedderProfile,
    settings: EndpointEmbedding,
    client: EndpointClient,
    concurrency: usize,
    probed: Mutex<Option<(Instant, Probes)>>,
}

impl EndpointEmbedder {
    /// An embedder for `endpoint`. Nothing is sent.
    pub fn new(endpoint: &Endpoint, settings: EndpointEmbedding) -> Result<Self, ClientError> {
        let client = EndpointClient::new(endpoint)?;
        let concurrency = endpoint.concurrency.max(1) as usize;
        let settings = EndpointEmbedding { max_batch: settings.max_batch.max(1), ..settings };
        let profile = EmbedderProfile {
            identity: identity(&endpoint.name, &settings),
            dimensions: settings.dimensions,
            max_tokens: None,
            languages: None,
            fusion_weight: 0.5,
            max_batch: settings.max_batch.saturating_mul(concurrency).min(MAX_TEXTS_A_CALL.max(settings.max_batch)),
        };
        Ok(Self { profile, settings, client, concurrency, probed: Mutex::default() })
    }

    async fn request(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let body = json!({ "model": self.settings.model, "input": texts, "encoding_format": "float" });
        let reply = self.client.post("/embeddings", &body, MAX_REPLY_BYTES).await;
        let reply = reply.map_err(|error| self.call_failed(error, texts.len()))?;
        parse(&reply, texts.len(), self.settings.dimensions).map_err(|reason| self.refused(texts.len(), reason))
    }

    fn refused(&self, texts: usize, reason: String) -> EmbedError {
        EmbedError::Refused { identity: self.profile.identity.clone(), texts, reason }
    }

    fn call_failed(&self, error: CallError, texts: usize) -> EmbedError {
        if error.is_unavailable() {
            return EmbedError::Unavailable { identity: self.profile.identity.clone(), reason: error.to_string() };
        }
        let fix = match &error {
            CallError::Status { status: 401 | 403, .. } => "; check the endpoint's API key",
            CallError::Status { status: 404, .. } => "; check baseURL and model of the endpoint",
            CallError::Status { status: 413, .. } => "; a smaller maxBatch may help",
            _ => "",
        };
        self.refused(texts, format!("{error}{fix}"))
    }
}

#[async_trait]
impl Embedder for EndpointEmbedder {
    fn profile(&self) -> &EmbedderProfile {
        &self.profile
    }

    async fn embed(&self, kind: EmbedKind, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let prefix = match kind {
            EmbedKind::Query => &self.settings.query_prefix,
            EmbedKind::Passage => &self.settings.passage_prefix,
        };
        let blank = |text: &str| text.trim().is_empty();
        let sent: Vec<String> =
            texts.iter().filter(|text| !blank(text)).map(|text| format!("{prefix}{text}")).collect();
        let mut requests = Vec::new();
        for batch in sent.chunks(self.settings.max_batch) {
            requests.push(self.request(batch));
        }
        let batches: Vec<_> = stream::iter(requests).buffered(self.concurrency).try_collect().await?;
        let mut vectors = batches.into_iter().flatten();
        // Servers refuse empty texts, so those are answered here.
        let empty = || vec![0.0; self.settings.dimensions];
        let filled = texts.iter().map(|text| if blank(text) { Some(empty()) } else { vectors.next() });
        filled.collect::<Option<_>>().ok_or_else(|| self.refused(texts.len(), "vectors are missing".into()))
    }

    async fn probe(&self, max_age: Duration) -> Result<Option<Probes>, EmbedError> {
        let mut probed = self.probed.lock().await;
        if let Some((at, probes)) = &*probed
            && at.elapsed() < max_age
        {
            return Ok(Some(probes.clone()));
        }
        let probes = Probes(self.embed(EmbedKind::Passage, &PROBE_SENTENCES.map(str::to_owned)).await?);
        *probed = Some((Instant::now(), probes.clone()));
        Ok(Some(probes))
    }
}

/// Prefixes are part of what is embedded, so other prefixes are another embedder.
fn identity(endpoint: &str, settings: &EndpointEmbedding) -> String {
    let mut identity = format!("endpoint/{endpoint}/{}/{}", settings.model, settings.dimensions);
    if !settings.query_prefix.is_empty() || !settings.passage_prefix.is_empty() {
        let prefixes = TextHash::of(&format!("{}\0{}", settings.query_prefix, settings.passage_prefix)).to_string();
        identity.push_str(&format!("/prefixes-{}", &prefixes[..12]));
    }
    identity
}

#[derive(Deserialize)]
struct Reply {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    index: Option<usize>,
    embedding: Vec<f32>,
}

fn parse(reply: &[u8], texts: usize, dimensions: usize) -> Result<Vec<Vec<f32>>, String> {
    let reply: Reply =
        serde_json::from_slice(reply).map_err(|error| format!("its reply is not a list of embeddings: {error}"))?;
    if reply.data.len() != texts {
        return Err(format!("it answered {} vectors for {texts} texts", reply.data.len()));
    }
    let mut vectors = vec![None; texts];
    for (position, item) in reply.data.into_iter().enumerate() {
        let index = item.index.unwrap_or(position);
        let slot = vectors.get_mut(index).ok_or_else(|| format!("index {index} is outside of {texts} texts"))?;
        if slot.replace(checked(item.embedding, index, dimensions)?).is_some() {
            return Err(format!("it answered index {index} twice"));
        }
    }
    vectors.into_iter().collect::<Option<_>>().ok_or_else(|| "vectors are missing".into())
}

fn checked(vector: Vec<f32>, index: usize, dimensions: usize) -> Result<Vec<f32>, String> {
    if vector.len() != dimensions {
        return Err(format!(
            "vector {index} has {} dimensions where the contract says {dimensions}; set embedding.dimensions to {0}, \
             or name another model",
            vector.len()
        ));
    }
    if vector.iter().any(|value| !value.is_finite()) {
        return Err(format!("vector {index} holds a number that is not finite"));
    }
    unit(vector).ok_or_else(|| format!("vector {index} is all zero"))
}

#[cfg(test)]
pub(super) mod tests;
