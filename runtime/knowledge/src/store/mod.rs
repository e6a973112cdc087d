//! The store seam: typed operations behind two handles.
//!
//! A store gives out a [`Reader`] for a principal, the only type that returns text or scores, with the access filter
//! inside, and a [`Maintainer`] for a sync lease, which counts, lists, writes and deletes and returns no text.
//!
//! Contract (one suite runs it on every implementation): a write is visible to readers made after it returned, and to
//! existing readers at the latest at their next call; `write_documents` replaces a document completely, so that no hit
//! of an older version comes back; `delete_documents` leaves nothing that a reader can see; repeating any call changes
//! nothing; filters are applied inside the search, so that `limit` hits come back whenever that many match; a chunk that
//! readers could see is told from one that never was after it vanished, be it by a write, a deletion or a changed
//! contract (at least for the newest 100,000).

use async_trait::async_trait;
use groundwork_config::Contract;
use std::sync::Arc;

mod access;
#[cfg(any(test, feature = "contract-suite"))]
pub mod contract;
pub mod embedded;
mod error;
pub(crate) mod language;
mod maintainer;
#[cfg(test)]
mod oracle;
#[cfg(feature = "qdrant")]
pub mod qdrant;
mod reader;
mod similar;
mod state;
mod types;

pub use error::StoreError;
pub use maintainer::{DocumentFailure, DocumentWrite, EmbedProgress, FileStamp, Maintainer, ManifestEntry, SyncLease};
pub use reader::Reader;
pub use types::{
    ChunkHit, ChunkLookup, ChunkText, Counts, DocumentSummary, Filter, GoneChunk, KeywordQuery, ParentChunk, ParentKey,
    ParentText, Principal, TermStatistics,
};

/// A knowledge base's store.
#[async_trait]
pub trait KnowledgeStore: Send + Sync {
    /// Handle for reading the active revision, with the principal's access filter inside. `None` before the first
    /// revision is active.
    async fn reader(&self, principal: &Principal) -> Result<Option<Arc<dyn Reader>>, StoreError>;

    /// Takes the newest lease; older ones are refused from now on.
    async fn lease(&self) -> Result<SyncLease, StoreError>;

    /// Handle for the revision of this contract: the active one if it has the contract, else one that is (or already
    /// was) being built beside it.
    async fn maintainer(&self, lease: &SyncLease, contract: &Contract) -> Result<Arc<dyn Maintainer>, StoreError>;
}
