//! What a search is asked and what it gives.

use groundwork_config::{ArmWeights, Fusion, Retrieval, RetrievalMode};
use std::ops::Range;
use std::sync::Arc;

use crate::embed::EmbedError;
use crate::identity::ChunkId;
use crate::store::{Filter, ParentText, StoreError};

/// One search.
#[derive(Clone, Debug)]
pub struct SearchRequest {
    /// The question as typed.
    pub query: String,
    /// Which arms run.
    pub mode: RetrievalMode,
    /// Distinct parents each arm hands to fusion.
    pub candidates: usize,
    /// Hits returned.
    pub top_k: usize,
    /// How the arms are joined.
    pub fusion: Fusion,
    /// Weights; `None` takes the embedder's.
    pub weights: Option<ArmWeights>,
    /// Which documents.
    pub filter: Filter,
}

impl SearchRequest {
    /// A request with a pipeline's settings.
    pub fn new(query: impl Into<String>, retrieval: &Retrieval) -> Self {
        Self {
            query: query.into(),
            mode: retrieval.mode,
            candidates: retrieval.candidates as usize,
            top_k: retrieval.top_k as usize,
            fusion: retrieval.fusion,
            weights: retrieval.weights,
            filter: Filter::default(),
        }
    }
}

/// What a search found.
#[derive(Clone, Debug)]
pub struct SearchResult {
    /// Best first.
    pub hits: Vec<Hit>,
    /// The arms that ran, with what they found.
    pub arms: Vec<ArmReport>,
    /// Things a person should know: vectors not complete, query outside the encoder's languages.
    pub notes: Vec<String>,
}

/// A found parent.
#[derive(Clone, Debug)]
pub struct Hit {
    /// The parent, with text.
    pub parent: Arc<ParentText>,
    /// Fused score.
    pub score: f32,
    /// Each arm's view of it.
    pub arms: Vec<ArmHit>,
    /// The chunks that matched, best first: id and bytes of the parent's text.
    pub chunks: Vec<(ChunkId, Range<usize>)>,
}

/// How one arm ranked a hit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArmHit {
    /// Which arm.
    pub arm: Arm,
    /// Rank among the arm's parents, from 1.
    pub rank: u32,
    /// The arm's own score: BM25 of chunk and parent added, or cosine.
    pub score: f32,
}

/// A retrieval arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Arm {
    /// BM25.
    Keyword,
    /// Dense vectors.
    Vector,
}

/// What one arm did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArmReport {
    /// Which arm.
    pub arm: Arm,
    /// Distinct parents found.
    pub parents: usize,
    /// Its weight in the fusion.
    pub weight: f32,
    /// Time it took.
    pub elapsed: std::time::Duration,
}

/// Why a search found nothing to say.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The embedder failed and no other arm was asked for.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// A search by vectors alone where there are none.
    #[error(
        "failed to search by vectors: the knowledge base has no embedder; choose mode keyword, or give it an embedding \
         model"
    )]
    NoEmbedder,
}
