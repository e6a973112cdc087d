//! Chat models behind one seam.

use async_trait::async_trait;
use groundwork_config::Prices;
use serde::{Deserialize, Serialize};
use std::time::Duration;

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
    /// Whether the server did not count, so that both numbers are estimates.
    pub estimated: bool,
}

/// Tokens, cost and time of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// One entry a step, in order; their sums are the run's totals.
    pub steps: Vec<StepUsage>,
}

impl Usage {
    /// Sum over the steps, under the name `total`. Its cost is unknown only if no step has one.
    pub fn total(&self) -> StepUsage {
        let zero = StepUsage { step: "total".into(), ..StepUsage::default() };
        self.steps.iter().fold(zero, |sum, step| StepUsage {
            input_tokens: sum.input_tokens + step.input_tokens,
            output_tokens: sum.output_tokens + step.output_tokens,
            cost_micros: match (sum.cost_micros, step.cost_micros) {
                (None, None) => None,
                (a, b) => Some(a.unwrap_or(0) + b.unwrap_or(0)),
            },
            elapsed_ms: sum.elapsed_ms + step.elapsed_ms,
            estimated: sum.estimated || step.estimated,
            step: sum.step,
        })
    }
}

/// Tokens, cost and time of one step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// Whether the tokens are estimates, since the server did not count them.
    #[serde(default)]
    pub estimated: bool,
}

impl StepUsage {
    /// A step that asked no model.
    pub(crate) fn without_model(step: &str, elapsed: Duration) -> Self {
        Self { step: step.into(), elapsed_ms: elapsed.as_millis() as u64, ..Self::default() }
    }

    /// A step that asked a model.
    pub(crate) fn of(step: &str, response: &ChatResponse, prices: Option<&Prices>, elapsed: Duration) -> Self {
        Self {
            input_tokens: response.input_tokens,
            output_tokens: response.output_tokens,
            cost_micros: prices.map(|prices| cost_micros(prices, response.input_tokens, response.output_tokens)),
            estimated: response.estimated,
            ..Self::without_model(step, elapsed)
        }
    }
}

/// Millionths of the currency unit, rounded half up once for both kinds of tokens.
fn cost_micros(prices: &Prices, input_tokens: u64, output_tokens: u64) -> u64 {
    let part = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
    let parts = part(input_tokens, prices.input_micros_per_million)
        .saturating_add(part(output_tokens, prices.output_micros_per_million));
    u64::try_from(parts.saturating_add(500_000) / 1_000_000).unwrap_or(u64::MAX)
}

/// Four characters of ASCII a token, one character of anything else: rough, for where nobody counted.
pub(crate) fn estimated_tokens(text: &str) -> u64 {
    let ascii = text.chars().filter(char::is_ascii).count() as u64;
    let other = text.chars().count() as u64 - ascii;
    ascii.div_ceil(4) + other
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
    /// The policy leaves no room for the call: it was not made, or was cut.
    #[error("{0}")]
    Policy(groundwork_policy::Refusal),
    /// Not reached, too slow or too busy after all retries.
    #[error("failed to reach {model}: {reason}")]
    Unavailable {
        /// Name of the model.
        model: String,
        /// What happened.
        reason: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_is_exact_in_whole_numbers() {
        let prices = |input, output| Prices { input_micros_per_million: input, output_micros_per_million: output };
        for (prices, input, output, expected) in [
            (prices(150_000, 600_000), 1_000_000, 1_000_000, 750_000),
            (prices(2_500_000, 10_000_000), 1234, 56, 3645),
            (prices(1, 0), 499_999, 0, 0),
            (prices(1, 0), 500_000, 0, 1),
            (prices(u64::MAX, u64::MAX), u64::MAX, u64::MAX, u64::MAX),
        ] {
            assert_eq!(cost_micros(&prices, input, output), expected, "{prices:?}");
        }
    }

    #[test]
    fn the_total_is_the_sum_of_the_steps() {
        let step = |tokens, cost| StepUsage { input_tokens: tokens, cost_micros: cost, ..StepUsage::default() };
        let usage = Usage { steps: vec![step(1, None), step(10, Some(7)), step(100, Some(8))] };
        let total = usage.total();
        assert_eq!((total.input_tokens, total.cost_micros, total.step.as_str()), (111, Some(15), "total"));
    }
}
