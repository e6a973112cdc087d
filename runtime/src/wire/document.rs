use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Which page of the documents' list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct DocumentsQuery {
    /// `next` of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<String>,
    /// Documents a page, 1 to 1000; 100 where left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<u32>,
    /// Glob on `source/path`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<String>,
    /// Tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tag: Option<String>,
}

/// A page of documents, by knowledge base, source and path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct DocumentsResponse {
    /// The documents.
    pub(crate) documents: Vec<DocumentSummary>,
    /// Cursor of the next page; none on the last.
    pub(crate) next: Option<String>,
}

/// A document without its text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct DocumentSummary {
    /// Identity.
    pub(crate) id: String,
    /// The knowledge base it is in.
    pub(crate) knowledge_base: String,
    /// `source/path`.
    pub(crate) document: String,
    /// Title.
    pub(crate) title: String,
    /// `markdown`, `text`, `code`, `csv`, `jsonl`, `html`, `pdf`, `docx` or `xlsx`.
    pub(crate) format: String,
    /// The document's own date (`YYYY-MM-DD`).
    pub(crate) date: Option<String>,
    /// Tags.
    pub(crate) tags: Vec<String>,
    /// Rises with each change.
    pub(crate) version: u32,
    /// Whether a newer state of the file failed to load, so that this is the last good one.
    pub(crate) stale: bool,
    /// Number of chunks.
    pub(crate) chunks: u32,
    /// Size of its text in bytes.
    pub(crate) bytes: u64,
}

/// A document with its text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct DocumentView {
    /// What it is.
    pub(crate) summary: DocumentSummary,
    /// Its whole normalised text.
    pub(crate) text: String,
}

/// How much text comes around an opened chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Scope {
    /// The passage that the chunk is part of.
    #[default]
    Passage,
    /// The whole document.
    Document,
}

/// A chunk in its place: what a citation opens. `before + quote + after` is the passage, or the whole document, as the
/// scope asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct ChunkView {
    /// Identity.
    pub(crate) id: String,
    /// The document.
    pub(crate) summary: DocumentSummary,
    /// Headings above.
    pub(crate) heading_path: Vec<String>,
    /// Where the passage lies: `lines 3-9`, `page 2`, `sheet Prices, rows 4-8`.
    pub(crate) locator: String,
    /// Text before the chunk.
    pub(crate) before: String,
    /// The chunk, verbatim.
    pub(crate) quote: String,
    /// Text after the chunk.
    pub(crate) after: String,
    /// What was indexed with it: title, headings, table header, code symbol. One item a line.
    pub(crate) context: String,
}
