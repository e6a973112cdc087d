//! Chat models behind one seam.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

/// A chat model.
#[async_trait]
pub trait ChatModel: Send + Sync {
    /// Name for answers and reports.
    fn name(&self) -> &str;

    /// One completion. All transport retries happen inside, within the endpoint's timeout each.
    async fn complete(&self, request: ChatRequest) -> Result<ChatResponse, ModelError>;
}

/// What the model is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatRequest {
    /// Instructions.
    pub system: String,
    /// Turns after the instructions, oldest first; the last is the user's.
    pub turns: Vec<Turn>,
    /// Form of the reply.
    pub format: ReplyFormat,
    /// Sampling temperature.
    pub temperature: f32,
    /// Upper bound of the reply.
    pub max_tokens: u32,
}

/// A turn of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum Turn {
    /// From the caller.
    User(String),
    /// From the model.
    Assistant(String),
}

/// Form of a reply, strongest first; servers that refuse one are asked for the next.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplyFormat {
    /// `response_format: json_schema`.
    JsonSchema {
        /// Name of the schema.
        name: String,
        /// The schema.
        schema: serde_json::Value,
    },
    /// `response_format: json_object`.
    JsonMode,
    /// Plain text.
    Text,
}

/// What the model replied.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatResponse {
    /// The reply's text.
    pub text: String,
    /// Prompt tokens as the server counted them.
    pub input_tokens: u64,
    /// Reply tokens as the server counted them.
    pub output_tokens: u64,
}

/// Tokens, cost and time of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// One entry a step, in order; their sums are the run's totals.
    pub steps: Vec<StepUsage>,
}

/// Tokens, cost and time of one step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepUsage {
    /// `retrieve`, `answer`, `repair`.
    pub step: String,
    /// Prompt tokens.
    pub input_tokens: u64,
    /// Reply tokens.
    pub output_tokens: u64,
    /// Cost in millionths of the currency unit, where prices are known.
    pub cost_micros: Option<u64>,
    /// Wall time in milliseconds.
    pub elapsed_ms: u64,
}

/// A model gave no usable reply.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The server does not know the requested reply format.
    #[error("{model} does not support this reply format: {reason}")]
    FormatUnsupported {
        /// Name of the model.
        model: String,
        /// The server's words.
        reason: String,
    },
    /// Refused for good: bad key, unknown model, prompt too long.
    #[error("failed to ask {model}: {reason}")]
    Refused {
        /// Name of the model.
        model: String,
        /// The server's words and the fix.
        reason: String,
    },
    /// Not reached, too slow or too busy after all retries.
    #[error("failed to reach {model}: {reason}")]
    Unavailable {
        /// Name of the model.
        model: String,
        /// What happened.
        reason: String,
    },
}
