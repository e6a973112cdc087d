//! Embedders: text to vectors, behind one seam.
//!
//! [`HashingEmbedder`] needs no model and knows no language, [`CrateEncoder`] is the English encoder inside the
//! binary, [`EndpointEmbedder`] asks an OpenAI-compatible server. [`embedder_for`] makes the one that a contract names.

mod encoder;
mod endpoint;
mod factory;
mod hashing;
mod probe;

#[cfg(test)]
mod contract_tests;

pub use encoder::CrateEncoder;
pub use endpoint::{EndpointEmbedder, EndpointEmbedding};
pub use factory::{EmbedderError, embedder_for};
pub use hashing::HashingEmbedder;
pub use probe::{Probed, Probes};

use async_trait::async_trait;
use std::time::Duration;

/// What a text is embedded as; some models want different prefixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmbedKind {
    /// A question.
    Query,
    /// Text of a document.
    Passage,
}

/// What is known of an embedder without running it.
#[derive(Clone, Debug, PartialEq)]
pub struct EmbedderProfile {
    /// Two embedders with equal identity give interchangeable vectors. Stored beside each vector.
    pub identity: String,
    /// Length of every vector.
    pub dimensions: usize,
    /// Longer texts are cut; `None` is no limit.
    pub max_tokens: Option<usize>,
    /// ISO 639-3 codes of the languages it understands; `None` is any. Text outside gets no vector.
    pub languages: Option<Vec<&'static str>>,
    /// Default weight of the dense arm in `RelativeScore` fusion, 0 to 1; the keyword arm has the rest.
    pub fusion_weight: f32,
    /// Texts a call takes at most.
    pub max_batch: usize,
}

/// Turns texts into unit vectors.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// What is known without running it.
    fn profile(&self) -> &EmbedderProfile;

    /// One vector a text, in order, of the profile's dimension, finite, of length 1 (or all zero for a text without
    /// any feature). Texts are at most `max_batch`. An error means that none of them got a vector.
    async fn embed(&self, kind: EmbedKind, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError>;

    /// The vectors that fixed sentences have now, or had at most `max_age` ago; `None` where the identity names the
    /// weights, so that there is nothing to find out.
    async fn probe(&self, max_age: Duration) -> Result<Option<Probes>, EmbedError> {
        let _ = max_age;
        Ok(None)
    }
}

/// Why a batch got no vectors.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The embedder answered something that cannot be used; asking again gives the same.
    #[error("failed to embed {texts} texts with {identity}: {reason}")]
    Refused {
        /// Identity of the embedder.
        identity: String,
        /// Size of the batch.
        texts: usize,
        /// What was wrong with it, and the fix where there is one.
        reason: String,
    },
    /// The model behind the identity is another one than before: its vectors cannot be compared with those stored.
    #[error(
        "the model behind {identity} is not the one that made the stored vectors: fixed sentences have a cosine of \
         {cosine:.3} to those recorded, 0.999 is expected; bring that model back, or give the new one another name \
         (of the model or of the endpoint), and its vectors are built beside"
    )]
    ModelChanged {
        /// Identity of the embedder.
        identity: String,
        /// Lowest cosine of a sentence.
        cosine: f32,
    },
    /// The embedder could not be reached or was busy after all retries; later may work.
    #[error("failed to reach the embedder {identity}: {reason}")]
    Unavailable {
        /// Identity of the embedder.
        identity: String,
        /// What happened.
        reason: String,
    },
}

/// Scales to length 1; `None` for a vector that has no direction or is not finite.
fn unit(mut vector: Vec<f32>) -> Option<Vec<f32>> {
    let length = vector.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
    if !length.is_finite() || length == 0.0 {
        return None;
    }
    vector.iter_mut().for_each(|value| *value = (f64::from(*value) / length) as f32);
    Some(vector)
}
