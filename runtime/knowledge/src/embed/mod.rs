//! Embedders: text to vectors, behind one seam.

use async_trait::async_trait;

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
    /// The embedder could not be reached or was busy after all retries; later may work.
    #[error("failed to reach the embedder {identity}: {reason}")]
    Unavailable {
        /// Identity of the embedder.
        identity: String,
        /// What happened.
        reason: String,
    },
}
