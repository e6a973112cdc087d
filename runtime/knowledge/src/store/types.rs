//! What a reader asks with and gets back.

use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

use crate::document::{Format, Locator, Metadata};
use crate::identity::{ChunkId, DocumentId};

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
    /// Score of the arm: BM25 of chunk and parent added, or cosine similarity.
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
    /// Its chunks, in the order of the text.
    pub chunks: Vec<ParentChunk>,
}

/// A chunk's place in its parent.
#[derive(Clone, Debug, PartialEq)]
pub struct ParentChunk {
    /// Identity.
    pub id: ChunkId,
    /// Bytes of the parent's text.
    pub range: Range<usize>,
    /// Context indexed with it: title, heading path, table header or code symbol, one item a line.
    pub context: String,
}

/// A chunk with its place, as a citation opens it.
#[derive(Clone, Debug, PartialEq)]
pub struct ChunkText {
    /// Identity.
    pub id: ChunkId,
    /// Parent with text; the chunk is `parent.text[range]`.
    pub parent: Arc<ParentText>,
    /// Bytes of the parent's text.
    pub range: Range<usize>,
    /// Context indexed with it.
    pub context: String,
}

/// What is left of a chunk that vanished.
#[derive(Clone, Debug, PartialEq)]
pub struct GoneChunk {
    /// Source of its document.
    pub source: String,
    /// Path of its document.
    pub path: String,
    /// The document as it is now; none where it vanished too.
    pub document: Option<Arc<DocumentSummary>>,
}

/// Answer to a look-up of a chunk by id.
#[derive(Clone, Debug, PartialEq)]
pub enum ChunkLookup {
    /// It is there (and the principal may see it).
    Found(Box<ChunkText>),
    /// It was there.
    Gone(Box<GoneChunk>),
    /// Never seen, forgotten since it vanished, or not for this principal.
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
