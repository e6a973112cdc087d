//! A chat model behind an OpenAI-compatible `POST {base}/chat/completions`.

mod wire;

#[cfg(test)]
pub(crate) mod tests;

use async_trait::async_trait;
use groundwork_config::Endpoint;
use groundwork_endpoint::{CallError, ClientError, EndpointClient};
use std::sync::atomic::{AtomicU8, Ordering};

use crate::model::{ChatModel, ChatRequest, ChatResponse, ModelError, ReplyFormat};

/// A reply of a few thousand tokens is far below this; a larger one is a broken or hostile server.
const MAX_REPLY_BYTES: usize = 4 * 1024 * 1024;

/// Levels of [`ReplyFormat`], strongest first.
const JSON_SCHEMA: u8 = 0;
const JSON_MODE: u8 = 1;
const TEXT: u8 = 2;

/// An OpenAI-compatible chat model. It remembers which reply formats the server refused, and refuses those itself from
/// then on without asking again.
#[derive(Debug)]
pub struct OpenAiChat {
    model: String,
    client: EndpointClient,
    /// Strongest level that is worth trying.
    strongest: AtomicU8,
}

impl OpenAiChat {
    /// A model at `endpoint`. Nothing is sent.
    pub fn new(endpoint: &Endpoint) -> Result<Self, ClientError> {
        let client = EndpointClient::new(endpoint)?;
        Ok(Self { model: endpoint.model.clone(), client, strongest: AtomicU8::new(JSON_SCHEMA) })
    }

    fn failed(&self, error: CallError, level: u8) -> ModelError {
        let (model, reason) = (self.model.clone(), error.to_string());
        match &error {
            error if error.is_unavailable() => ModelError::Unavailable { model, reason },
            CallError::Status { status: 400 | 404 | 415 | 422 | 501, reason: words, .. }
                if level < TEXT && !names_other_cause(words) =>
            {
                if names_format(words) {
                    self.strongest.fetch_max(level + 1, Ordering::Relaxed);
                }
                ModelError::FormatUnsupported { model, reason }
            }
            CallError::Status { status, .. } => {
                ModelError::Refused { model, reason: format!("{reason}{}", fix(*status)) }
            }
            _ => ModelError::Refused { model, reason },
        }
    }
}

#[async_trait]
impl ChatModel for OpenAiChat {
    fn name(&self) -> &str {
        &self.model
    }

    async fn complete(&self, request: ChatRequest) -> Result<ChatResponse, ModelError> {
        let level = level(&request.format);
        if level < self.strongest.load(Ordering::Relaxed) {
            let reason = "the server refused it before".to_owned();
            return Err(ModelError::FormatUnsupported { model: self.model.clone(), reason });
        }
        let body = wire::request(&self.model, &request);
        let reply = self.client.post("/chat/completions", &body, MAX_REPLY_BYTES).await;
        let reply = reply.map_err(|error| self.failed(error, level))?;
        let response = wire::response(&reply, &request)
            .map_err(|reason| ModelError::Refused { model: self.model.clone(), reason })?;
        // The caller asks for the strongest format first, so a weaker one that works was preceded by refusals.
        self.strongest.fetch_max(level, Ordering::Relaxed);
        Ok(response)
    }
}

fn level(format: &ReplyFormat) -> u8 {
    match format {
        ReplyFormat::JsonSchema { .. } => JSON_SCHEMA,
        ReplyFormat::JsonMode => JSON_MODE,
        ReplyFormat::Text => TEXT,
    }
}

/// Whether the server's words blame the reply format.
fn names_format(words: &str) -> bool {
    let words = words.to_lowercase();
    ["response_format", "json_schema", "json_object", "json mode", "schema", "structured output", "grammar"]
        .iter()
        .any(|word| words.contains(word))
}

/// Whether they blame something that another format will not change.
fn names_other_cause(words: &str) -> bool {
    let words = words.to_lowercase();
    let causes =
        ["context length", "context_length", "context window", "too many tokens", "maximum context", "api key"];
    let model_unknown =
        words.contains("model") && ["not found", "does not exist", "unknown"].iter().any(|w| words.contains(w));
    !names_format(&words) && (model_unknown || causes.iter().any(|cause| words.contains(cause)))
}

fn fix(status: u16) -> &'static str {
    match status {
        401 | 403 => "; check the endpoint's API key",
        404 => "; check baseURL and model of the endpoint",
        _ => "",
    }
}
