//! The handle that returns text and scores.

use async_trait::async_trait;
use groundwork_config::Contract;
use std::sync::Arc;

use super::{
    ChunkHit, ChunkLookup, Counts, DocumentSummary, Filter, KeywordQuery, ParentKey, ParentText, StoreError,
    TermStatistics,
};
use crate::embed::Probes;
use crate::identity::{ChunkId, DocumentId};

/// The only handle that returns text or scores.
#[async_trait]
pub trait Reader: Send + Sync {
    /// Identity of the revision read: stable over syncs, changed by a changed contract.
    fn revision(&self) -> String;

    /// The contract of that revision.
    fn contract(&self) -> Arc<Contract>;

    /// Chunks that have a term of the query, best first, ties by chunk id. A chunk's score is its own BM25 (k1 1.2,
    /// b 0.75, statistics over chunks) plus that of its parent (the same over parents, each with its title and
    /// headings). Adding a document's score to its passages' is Callan's, "Passage-level evidence in document
    /// retrieval", SIGIR 1994.
    async fn search_keywords(
        &self,
        query: &KeywordQuery,
        filter: &Filter,
        limit: usize,
    ) -> Result<Vec<ChunkHit>, StoreError>;

    /// Cosine similarity, best first, ties by chunk id. `query` has length 1. All vectors are compared, unless the store
    /// was told that some may be missed.
    async fn search_vectors(&self, query: &[f32], filter: &Filter, limit: usize) -> Result<Vec<ChunkHit>, StoreError>;

    /// Whether [`Self::search_both`] is one request, so that waiting for a question's vector before asking pays.
    fn asks_both_at_once(&self) -> bool {
        false
    }

    /// [`Self::search_keywords`] and [`Self::search_vectors`] with one filter and one limit.
    async fn search_both(
        &self,
        query: &KeywordQuery,
        vector: &[f32],
        filter: &Filter,
        limit: usize,
    ) -> Result<(Vec<ChunkHit>, Vec<ChunkHit>), StoreError> {
        futures::try_join!(self.search_keywords(query, filter, limit), self.search_vectors(vector, filter, limit))
    }

    /// Parents with text, in the order asked; those that vanished meanwhile are left out.
    async fn parents(&self, keys: &[ParentKey]) -> Result<Vec<Arc<ParentText>>, StoreError>;

    /// A chunk by id.
    async fn chunk(&self, id: ChunkId) -> Result<ChunkLookup, StoreError>;

    /// A document's summary.
    async fn document(&self, id: DocumentId) -> Result<Option<DocumentSummary>, StoreError>;

    /// A document's whole body: its parents joined.
    async fn body(&self, id: DocumentId) -> Result<Option<String>, StoreError>;

    /// Documents by source and path, after `after` (exclusive), at most `limit`.
    async fn documents(
        &self,
        filter: &Filter,
        after: Option<(String, String)>,
        limit: usize,
    ) -> Result<Vec<DocumentSummary>, StoreError>;

    /// How many chunks have each term: words first, then identifiers, over everything that is indexed.
    async fn term_statistics(&self, query: &KeywordQuery) -> Result<TermStatistics, StoreError>;

    /// The indexed terms closest to `term` (edit distance at most 2, nearest first, then most frequent).
    async fn similar_terms(&self, term: &str, limit: usize) -> Result<Vec<String>, StoreError>;

    /// What the embedder gave for its probe sentences when the revision's vectors were made; none where it has none.
    async fn probes(&self) -> Result<Option<Probes>, StoreError>;

    /// How far the revision is.
    async fn counts(&self) -> Result<Counts, StoreError>;
}
