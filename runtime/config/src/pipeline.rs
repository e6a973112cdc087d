use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// How one pipeline answers questions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Pipeline {
    /// Name of the manifest.
    pub name: String,
    /// How passages are found.
    pub retrieval: Retrieval,
    /// Name of the chat [`Endpoint`]; without one, answers quote the documents.
    pub chat: Option<String>,
    /// Sampling temperature of the chat model, in thousandths (0 to 2000).
    pub temperature_milli: u16,
}

/// How passages are found and joined.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Retrieval {
    /// Which arms run where a request names none.
    pub mode: RetrievalMode,
    /// Distinct parents each arm hands to fusion (1 to 1000).
    pub candidates: u32,
    /// Parents given to the answer (1 to 100).
    pub top_k: u32,
    /// How the arms' lists are joined.
    pub fusion: Fusion,
    /// Weight of each arm; `None` takes the embedder's measured weight for the dense arm and the rest for keywords.
    pub weights: Option<ArmWeights>,
    /// Upper size of all passages given to the answer, in cl100k tokens.
    pub token_budget: u32,
}

impl Default for Retrieval {
    fn default() -> Self {
        Self {
            mode: RetrievalMode::Hybrid,
            candidates: 100,
            top_k: 8,
            fusion: Fusion::RelativeScore,
            weights: None,
            token_budget: 4000,
        }
    }
}

/// Which arms a search runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetrievalMode {
    /// BM25 only.
    Keyword,
    /// Vectors only.
    Vector,
    /// Both, fused.
    Hybrid,
}

/// How ranked lists are joined.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Fusion {
    /// Each arm's scores are scaled to 0..1 per query (min-max), a missing hit counts 0, then the weighted sum.
    RelativeScore,
    /// Reciprocal rank fusion (Cormack, Clarke and Büttcher 2009): sum of weight / (k + rank), ranks from 1.
    Rrf {
        /// The constant of the formula; 60 in the paper.
        k: u32,
    },
}

/// Weights of the arms in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ArmWeights {
    /// Weight of the keyword arm.
    pub keyword_milli: u32,
    /// Weight of the dense arm.
    pub vector_milli: u32,
}

/// An OpenAI-compatible model endpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Endpoint {
    /// Name of the manifest.
    pub name: String,
    /// Base address up to and including `/v1`.
    pub base_url: String,
    /// Model name sent with each request.
    pub model: String,
    /// What it may be used for.
    pub uses: Vec<EndpointUse>,
    /// File that holds the key; read again when it changes. The key itself is never part of a configuration.
    pub api_key_file: Option<PathBuf>,
    /// Environment variable that holds the key, where no file does; read at each try. Only the command line sets it.
    pub api_key_env: Option<String>,
    /// Whole time of one request, in milliseconds.
    pub timeout_ms: u64,
    /// Further tries after a failure that may pass (429, 5xx, connection).
    pub retries: u32,
    /// Requests a minute of this process; `None` is unlimited.
    pub requests_per_minute: Option<u32>,
    /// Requests in flight of this process.
    pub concurrency: u32,
    /// Context window in tokens, where known.
    pub context_window: Option<u32>,
    /// What tokens cost, where known.
    pub prices: Option<Prices>,
}

impl Endpoint {
    /// A model at an address, for one use, without a key, limits or prices: 60 s a request, 2 further tries, 4 requests
    /// in flight.
    pub fn new(name: &str, base_url: &str, model: &str, use_for: EndpointUse) -> Self {
        Self {
            name: name.to_owned(),
            base_url: base_url.to_owned(),
            model: model.to_owned(),
            uses: vec![use_for],
            api_key_file: None,
            api_key_env: None,
            timeout_ms: 60_000,
            retries: 2,
            requests_per_minute: None,
            concurrency: 4,
            context_window: None,
            prices: None,
        }
    }
}

/// What an endpoint is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EndpointUse {
    /// `/chat/completions`.
    Chat,
    /// `/embeddings`.
    Embeddings,
}

/// Prices in millionths of a currency unit per million tokens (so one unit per million tokens is 1,000,000).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Prices {
    /// Price of prompt tokens.
    pub input_micros_per_million: u64,
    /// Price of completion tokens.
    pub output_micros_per_million: u64,
}
