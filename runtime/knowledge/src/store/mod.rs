//! The store seam: typed operations behind two handles.
//!
//! A store gives out a [`Reader`] for a principal, the only type that returns text or scores, with the access filter
//! inside, and a [`Maintainer`] for a sync lease, which counts, lists, writes and deletes and returns no text.
//!
//! Contract (one suite runs it on every implementation): a write is visible to readers made after it returned, and to
//! existing readers at the latest at their next call; `write_documents` replaces a document completely, so that no hit
//! of an older version comes back; `delete_documents` leaves nothing that a reader can see; repeating any call changes
//! nothing; filters are applied inside the search, so that `limit` hits come back whenever that many match.

use async_trait::async_trait;
use groundwork_config::Contract;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use crate::chunk::ChunkedDocument;
use crate::document::{Format, Locator, Metadata, NormalisedDocument};
use crate::embed::Embedder;
use crate::identity::{ChunkId, DocumentId, TextHash};

/// Who reads. Decides which documents a reader can see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// Who it is, as authenticated.
    pub subject: String,
    /// Groups that documents may be granted to.
    pub groups: Vec<String>,
}

impl Principal {
    /// The person at the keyboard of a local instance.
    pub fn local() -> Self {
        Self { subject: "local".into(), groups: Vec::new() }
    }
}

/// Right to write, for one sync at a time. The store refuses a lease that is not its newest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncLease {
    /// Fencing token: rises with each lease.
    pub token: u64,
}

/// Which documents a search may return. Empty lists do not restrict.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Filter {
    /// Globs on `source/path`; any may match.
    pub paths: Vec<String>,
    /// Tags; any may match.
    pub tags: Vec<String>,
    /// Documents dated on this day or later. Undated documents never match a date bound.
    pub from: Option<jiff::civil::Date>,
    /// Documents dated on this day or earlier.
    pub until: Option<jiff::civil::Date>,
    /// Documents left out, whatever else matches.
    pub exclude_documents: Vec<DocumentId>,
}

/// A parent of a document, by position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ParentKey {
    /// The document.
    pub document: DocumentId,
    /// From 0, in the order of the body.
    pub ordinal: u32,
}

/// A found chunk, without text.
#[derive(Clone, Debug, PartialEq)]
pub struct ChunkHit {
    /// The chunk.
    pub chunk: ChunkId,
    /// Its parent.
    pub parent: ParentKey,
    /// Score of the arm: BM25, or cosine similarity.
    pub score: f32,
}

/// Keyword terms of a query, as the store's analyser made them: words and joined identifiers apart, distinct, with
/// counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeywordQuery {
    /// Ordinary terms and how often the query has them.
    pub words: Vec<(String, u32)>,
    /// Joined identifiers.
    pub identifiers: Vec<(String, u32)>,
}

/// What a reader shows of a document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DocumentSummary {
    /// Identity.
    pub id: DocumentId,
    /// Source name.
    pub source: String,
    /// Relative path.
    pub path: String,
    /// Title.
    pub title: String,
    /// Format.
    pub format: Format,
    /// Filterable values.
    pub metadata: Metadata,
    /// Rises with each change.
    pub version: u32,
    /// Whether a newer state of the file failed to load, so that this is the last good one.
    pub stale: bool,
    /// Number of chunks.
    pub chunks: u32,
    /// Size of the body in bytes.
    pub bytes: u64,
}

/// A parent with its text.
#[derive(Clone, Debug, PartialEq)]
pub struct ParentText {
    /// Position.
    pub key: ParentKey,
    /// The document.
    pub document: Arc<DocumentSummary>,
    /// Headings above it.
    pub heading_path: Vec<String>,
    /// Where it lies in the original.
    pub locator: Locator,
    /// Byte offset of the parent in the body.
    pub offset: usize,
    /// Its text, verbatim.
    pub text: String,
    /// Size in cl100k tokens.
    pub tokens: u32,
}

/// A chunk with its place, as a citation opens it.
#[derive(Clone, Debug, PartialEq)]
pub struct ChunkText {
    /// Identity.
    pub id: ChunkId,
    /// Parent with text; the chunk is `parent.text[range]`.
    pub parent: ParentText,
    /// Bytes of the parent's text.
    pub range: std::ops::Range<usize>,
    /// Context indexed with it.
    pub context: String,
}

/// Answer to a look-up of a chunk by id.
#[derive(Clone, Debug, PartialEq)]
pub enum ChunkLookup {
    /// It is there (and the principal may see it).
    Found(Box<ChunkText>),
    /// It was there; its document still is.
    Gone(Box<DocumentSummary>),
    /// Never seen, or not for this principal.
    Unknown,
}

/// Collection statistics of terms, for answering and abstention.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TermStatistics {
    /// Chunks in the collection.
    pub chunks: u64,
    /// Chunks that have the term, in the order of the request (words and identifiers alike).
    pub frequencies: Vec<u64>,
}

/// Progress of a revision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Documents that can be found.
    pub documents: u64,
    /// Their chunks.
    pub chunks: u64,
    /// Chunks that have a vector.
    pub vectors: u64,
    /// Chunks that will never have one (language outside the embedder's, or no embedder).
    pub without_vector: u64,
    /// Documents whose newest state failed.
    pub failed: u64,
}

/// The only handle that returns text or scores.
#[async_trait]
pub trait Reader: Send + Sync {
    /// Identity of the revision read: stable over syncs, changed by a changed contract.
    fn revision(&self) -> String;

    /// The contract of that revision.
    fn contract(&self) -> Arc<Contract>;

    /// BM25 (k1 1.2, b 0.75) over the chunks' terms, best first, ties by chunk id.
    async fn search_keywords(
        &self,
        query: &KeywordQuery,
        filter: &Filter,
        limit: usize,
    ) -> Result<Vec<ChunkHit>, StoreError>;

    /// Exact cosine similarity, best first, ties by chunk id. `query` has length 1.
    async fn search_vectors(&self, query: &[f32], filter: &Filter, limit: usize) -> Result<Vec<ChunkHit>, StoreError>;

    /// Parents with text, in the order asked; those that vanished meanwhile are left out.
    async fn parents(&self, keys: &[ParentKey]) -> Result<Vec<ParentText>, StoreError>;

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

    /// How many chunks have each term.
    async fn term_statistics(&self, query: &KeywordQuery) -> Result<TermStatistics, StoreError>;

    /// The indexed terms closest to `term` (edit distance at most 2, most frequent first).
    async fn similar_terms(&self, term: &str, limit: usize) -> Result<Vec<String>, StoreError>;

    /// How far the revision is.
    async fn counts(&self) -> Result<Counts, StoreError>;
}

/// What is known of a file without reading it. Unchanged means: equal in all parts, and older than the start of the
/// last sync.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStamp {
    /// Bytes.
    pub size: u64,
    /// Modification time in nanoseconds since the epoch.
    pub mtime_ns: i64,
    /// Change time in nanoseconds since the epoch (0 where there is none).
    pub ctime_ns: i64,
    /// Inode (0 where there is none).
    pub inode: u64,
}

/// What the manifest knows of a document, without text.
#[derive(Clone, Debug, PartialEq)]
pub struct ManifestEntry {
    /// Identity.
    pub id: DocumentId,
    /// Source name.
    pub source: String,
    /// Relative path.
    pub path: String,
    /// Stamp at the last successful or failed load.
    pub stamp: Option<FileStamp>,
    /// Hash of the file's bytes at that load.
    pub content: TextHash,
    /// Start of the sync that wrote the stamp, nanoseconds since the epoch.
    pub synced_at_ns: i64,
    /// Version stored; 0 if it never loaded.
    pub version: u32,
    /// Why the newest state failed, if it did.
    pub failure: Option<String>,
}

/// A document to be written.
#[derive(Clone, Debug)]
pub struct DocumentWrite {
    /// Identity.
    pub id: DocumentId,
    /// Source name.
    pub source: String,
    /// Relative path.
    pub path: String,
    /// Stamp of the file that was read.
    pub stamp: Option<FileStamp>,
    /// Hash of the file's bytes.
    pub content: TextHash,
    /// The normalised text.
    pub document: NormalisedDocument,
    /// Its parents and chunks.
    pub chunked: ChunkedDocument,
}

/// A document that could not be loaded.
#[derive(Clone, Debug, PartialEq)]
pub struct DocumentFailure {
    /// Identity.
    pub id: DocumentId,
    /// Source name.
    pub source: String,
    /// Relative path.
    pub path: String,
    /// Stamp of the file.
    pub stamp: Option<FileStamp>,
    /// Hash of the bytes, or of nothing where they could not be read.
    pub content: TextHash,
    /// Reason for people, without the path.
    pub reason: String,
}

/// What one call of [`Maintainer::embed_pending`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EmbedProgress {
    /// Chunks that got a vector computed now.
    pub embedded: u64,
    /// Chunks that got a stored vector of the same text.
    pub reused: u64,
    /// Chunks that will never have one.
    pub skipped: u64,
    /// Chunks still without.
    pub remaining: u64,
}

/// The handle of a sync. Returns no text.
#[async_trait]
pub trait Maintainer: Send + Sync {
    /// The revision it writes to.
    fn revision(&self) -> String;

    /// Whether that revision is the one readers get.
    async fn is_active(&self) -> Result<bool, StoreError>;

    /// Every document known, by source and path.
    async fn manifest(&self) -> Result<Vec<ManifestEntry>, StoreError>;

    /// Replaces documents, text and keywords in one transaction. Versions rise by one.
    async fn write_documents(&self, sync_started_ns: i64, documents: Vec<DocumentWrite>) -> Result<(), StoreError>;

    /// Records stamps of files whose bytes are unchanged.
    async fn touch_documents(
        &self,
        sync_started_ns: i64,
        stamps: Vec<(DocumentId, FileStamp)>,
    ) -> Result<(), StoreError>;

    /// Records failures; a document that has a good version keeps it, marked stale.
    async fn record_failures(&self, sync_started_ns: i64, failures: Vec<DocumentFailure>) -> Result<(), StoreError>;

    /// Removes documents and everything derived from them. Returns how many there were.
    async fn delete_documents(&self, ids: &[DocumentId]) -> Result<u64, StoreError>;

    /// Gives up to `limit` pending chunks their vectors, newest files first, in one transaction: stored vectors of the
    /// same text and embedder are reused, the rest is embedded. The text goes to the embedder and nowhere else.
    async fn embed_pending(&self, embedder: &dyn Embedder, limit: usize) -> Result<EmbedProgress, StoreError>;

    /// Makes derived indexes durable and visible.
    async fn flush(&self) -> Result<(), StoreError>;

    /// How far the revision is.
    async fn counts(&self) -> Result<Counts, StoreError>;

    /// Stores the report of a finished sync (JSON).
    async fn record_report(&self, report: serde_json::Value) -> Result<(), StoreError>;

    /// Makes this revision the one that readers get, in one transaction, and retires the one before.
    async fn activate(&self) -> Result<(), StoreError>;

    /// SHA-256 over ids, texts, vectors (rounded to 1e-5) and manifest in a canonical order: equal digests mean equal
    /// stores. Stamps and times are left out.
    async fn digest(&self) -> Result<String, StoreError>;
}

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

/// Why a store did not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The lease is not the newest any more.
    #[error("failed to {action}: another sync has taken over")]
    LeaseLost {
        /// What was asked.
        action: &'static str,
    },
    /// No space left on the device.
    #[error("failed to {action}: the disk with {path} is full; free some space and run it again, it resumes")]
    DiskFull {
        /// What was asked.
        action: &'static str,
        /// The data folder.
        path: String,
    },
    /// A filter that cannot be read.
    #[error("failed to read the filter {field}: {reason}")]
    Filter {
        /// Name of the field.
        field: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The embedder failed; nothing of the batch was written.
    #[error(transparent)]
    Embed(#[from] crate::embed::EmbedError),
    /// Everything else of the engine below.
    #[error("failed to {action}")]
    Engine {
        /// What was asked.
        action: &'static str,
        /// The engine's error.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}
