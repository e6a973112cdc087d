//! Structural chunking.

use std::ops::Range;

use crate::document::Locator;

/// A document cut into parents and chunks.
///
/// Invariants: parents are disjoint, ascending and, concatenated, equal the body; every chunk's span lies in its
/// parent and on character boundaries; no chunk touches the front matter; every non-space character outside the front
/// matter lies in a chunk.
#[derive(Clone, Debug, PartialEq)]
pub struct ChunkedDocument {
    /// Title shown to people and indexed as context.
    pub title: String,
    /// In the order of the body.
    pub parents: Vec<Parent>,
}

/// A section-sized part of the body, given to the model whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Parent {
    /// Bytes of the body.
    pub span: Range<usize>,
    /// Headings above, outermost first, without the title.
    pub heading_path: Vec<String>,
    /// Where it lies in the original.
    pub locator: Locator,
    /// Upper bound of its size in cl100k tokens as counted by the chunker.
    pub tokens: u32,
    /// The searched windows.
    pub chunks: Vec<Chunk>,
}

/// A searched window of a parent.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunk {
    /// Bytes of the body: verbatim and citable.
    pub span: Range<usize>,
    /// Title, heading path, table header or code symbol: indexed and embedded, never cited. One item a line.
    pub context: String,
}

/// The exact text that is analysed and embedded for a chunk: its context, a line end, its span. Vectors are reused by
/// this text's hash.
pub fn indexed_text(context: &str, span_text: &str) -> String {
    if context.is_empty() { span_text.to_owned() } else { format!("{context}\n{span_text}") }
}
