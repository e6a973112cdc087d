//! What an answer is made from.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A piece of a document, as retrieval hands it over.
#[derive(Clone, Debug, PartialEq)]
pub struct Passage {
    /// Identity of the best matching chunk; what a citation links to.
    pub chunk_id: String,
    /// Identity of the document.
    pub document_id: String,
    /// `source/path` of the document, for people.
    pub document: String,
    /// Title of the document.
    pub title: String,
    /// Headings above the passage.
    pub heading_path: Vec<String>,
    /// Where it lies, for people: `lines 3-9`, `page 2`, `sheet Prices, rows 4-8`.
    pub locator: String,
    /// Verbatim text that may be cited.
    pub text: String,
    /// How the text is written.
    pub form: TextForm,
    /// Bytes of `text` that retrieval matched, best first.
    pub matches: Vec<Range<usize>>,
    /// Identity and bytes of `text` of every chunk that lies in it, so that a citation can name the chunk it falls in.
    pub chunks: Vec<(String, Range<usize>)>,
    /// Header cells where the text is rows of a table.
    pub table_header: Option<Vec<String>>,
    /// Fused score.
    pub score: f32,
    /// How each arm saw it.
    pub arms: Vec<ArmScore>,
}

/// How a text is written, and so what of it is only form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextForm {
    /// Markdown, written so or made by extraction: marks of emphasis and targets of links are form.
    #[default]
    Markdown,
    /// Text, separated values: every character is meant.
    Plain,
    /// Source code: the same, and `#` begins a comment, not a heading.
    Code,
    /// JSON lines: the same, and each line speaks for itself.
    Records,
}

/// How one arm ranked a passage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArmScore {
    /// `keyword` or `vector`.
    pub arm: String,
    /// Rank from 1.
    pub rank: u32,
    /// The arm's own score.
    pub score: f32,
}

/// What retrieval found for a question.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// Best first, within the token budget, disjoint.
    pub passages: Vec<Passage>,
    /// Terms of the question as the knowledge base's analyser sees them, with their statistics.
    pub terms: Vec<QueryTerm>,
    /// Documents that the search covered.
    pub documents_searched: u64,
    /// Chunks in the collection, the N of inverse document frequencies.
    pub chunks_searched: u64,
    /// Things a person should know, such as vectors that are not complete yet.
    pub notes: Vec<String>,
    /// Identity of each revision that was read.
    pub revisions: Vec<String>,
}

/// A term of the question.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryTerm {
    /// The folded term.
    pub term: String,
    /// The words of the question it stands for.
    pub surface: String,
    /// Chunks that have it.
    pub chunk_frequency: u64,
    /// What a hard "not found" may rest on.
    pub kind: QueryTermKind,
    /// Nearest spellings, as documents write them; filled only for identifiers and numbers that no chunk has.
    pub similar: Vec<String>,
}

/// What kind of term it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryTermKind {
    /// An ordinary word.
    Word,
    /// A product code, symbol or name with digits or inner punctuation (`SKU-4471`).
    Identifier,
    /// A number of four digits or more, or with a unit.
    Number,
    /// Text in quotation marks; `chunk_frequency` counts passages that have it verbatim.
    Phrase,
}

/// Finds passages. The only way in which this crate reaches documents.
#[async_trait]
pub trait Retriever: Send + Sync {
    /// Evidence for a question.
    async fn retrieve(&self, question: &str) -> Result<Evidence, RetrieveError>;

    /// Folded terms of any text, by the same analyser that made [`Evidence::terms`], with their bytes of the text.
    fn analyse(&self, text: &str) -> Vec<(String, Range<usize>)>;

    /// How many chunks have each of the folded terms.
    async fn chunk_frequencies(&self, terms: &[String]) -> Result<Vec<u64>, RetrieveError>;
}

/// Retrieval failed.
#[derive(Debug, thiserror::Error)]
#[error("failed to search the documents: {0}")]
pub struct RetrieveError(#[source] pub Box<dyn std::error::Error + Send + Sync>);
