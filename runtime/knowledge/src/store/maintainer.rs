//! The handle of a sync, and what it writes.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{Counts, StoreError};
use crate::chunk::ChunkedDocument;
use crate::document::NormalisedDocument;
use crate::embed::Embedder;
use crate::identity::{DocumentId, TextHash};

/// Right to write, for one sync at a time. The store refuses a lease that is not its newest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncLease {
    /// Fencing token: rises with each lease.
    pub token: u64,
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
    /// same text and embedder are reused, the rest is embedded. The text goes to the embedder and nowhere else. The
    /// embedder's probes are recorded with its first vectors; later ones that differ are
    /// [`EmbedError::ModelChanged`](crate::embed::EmbedError::ModelChanged), and nothing is written.
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
