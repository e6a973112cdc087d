//! Structural chunking.
//!
//! A document becomes an outline of sections and blocks ([`outline`]); sections become windows ([`window`]); small
//! neighbouring sections share a parent ([`parent`]). Windows never cross a section, so that editing one section leaves
//! the chunk ids of the others alone. Whatever changes a parent, a chunk or a context raises
//! [`groundwork_config::CHUNKER_VERSION`].

use groundwork_config::{Chunking, ChunkingStrategy};
use std::ops::Range;

use crate::document::{Format, Locator, NormalisedDocument};

mod code;
mod locate;
mod markdown;
mod outline;
mod parent;
mod sentence;
mod symbol;
mod table;
mod token;
mod window;

pub(crate) use parent::section_context;

#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod tests;

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
    /// Headings above, outermost first, without the title. Where small sections share the parent: the headings that
    /// they have in common.
    pub heading_path: Vec<String>,
    /// Where it lies in the original.
    pub locator: Locator,
    /// Upper bound of its size in cl100k tokens as counted by the chunker.
    pub tokens: u32,
    /// The searched windows. Empty for front matter and white space.
    pub chunks: Vec<Chunk>,
}

/// A searched window of a parent.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunk {
    /// Bytes of the body: verbatim and citable, without white space at either end.
    pub span: Range<usize>,
    /// Title, heading path (joined by ` > `), table header (cells joined by ` | `) or code symbol: indexed and
    /// embedded, never cited. One item a line, each at most 200 bytes; the header only where the span does not hold it.
    pub context: String,
}

/// The exact text that is analysed and embedded for a chunk: its context, a line end, its span. Vectors are reused by
/// this text's hash.
pub fn indexed_text(context: &str, span_text: &str) -> String {
    if context.is_empty() { span_text.to_owned() } else { format!("{context}\n{span_text}") }
}

/// Cuts documents. Equal settings and documents give equal chunks. The token vocabulary is read at the first use.
///
/// Sizes are sums over the pieces of a span, each counted alone: an upper bound of the span's cl100k tokens up to two
/// tokens at either end, exact for most alphabetic text, up to a third above for Chinese (counted by characters). A
/// single character of more tokens than the limit is the only thing that exceeds it.
#[derive(Clone, Debug)]
pub struct Chunker {
    strategy: ChunkingStrategy,
    limits: window::Limits,
}

impl Chunker {
    /// A chunker with a contract's settings. An overlap that leaves no room for new text is cut to half a chunk, and a
    /// parent is at least as large as a chunk.
    pub fn new(chunking: &Chunking) -> Self {
        let child = chunking.child_tokens.max(1);
        let limits = window::Limits {
            parent: chunking.parent_tokens.max(child),
            child,
            overlap: chunking.overlap_tokens.min(child / 2),
        };
        Self { strategy: chunking.strategy, limits }
    }

    /// Cuts a document. `path` gives the title where nothing else does, and the language of source code.
    pub fn chunk(&self, path: &str, document: &NormalisedDocument) -> ChunkedDocument {
        let front = front_matter(document);
        let mut outline = self.outline(path, document, front);
        let title = title(path, document, outline.heading.take());
        for section in &mut outline.sections {
            if section.path.first() == Some(&title) {
                section.path.remove(0);
            }
        }
        let limits = match self.strategy {
            ChunkingStrategy::Whole => window::Limits { parent: u32::MAX, child: u32::MAX, overlap: 0 },
            ChunkingStrategy::Structural | ChunkingStrategy::Fixed => self.limits,
        };
        let writer =
            parent::Writer { body: &document.body, title: &title, limits, merges: document.format != Format::Xlsx };
        let mut parents = writer.parents(&outline);
        if front > 0 {
            parents.insert(0, writer.front_matter(front));
        }
        locate::locate(document, outline.rows.as_deref(), &mut parents);
        ChunkedDocument { title, parents }
    }

    fn outline(&self, path: &str, document: &NormalisedDocument, start: usize) -> outline::Outline {
        let body = document.body.as_str();
        if self.strategy != ChunkingStrategy::Structural {
            // Headings are read for the title only.
            let heading = document.format.body_is_markdown().then(|| markdown::first_heading(body, start)).flatten();
            return outline::Outline { heading, ..outline::Outline::plain(body, start) };
        }
        match document.format {
            Format::Markdown | Format::Html | Format::Pdf | Format::Docx | Format::Xlsx => {
                markdown::outline(body, start)
            }
            Format::Text => outline::Outline::text(body, start, self.limits.child),
            Format::Code => code::outline(path, body, start, self.limits.child),
            Format::Csv => table::separated(body, start),
            Format::JsonLines => table::lines_of_records(body, start),
        }
    }
}

/// End of the front matter, 0 without one.
fn front_matter(document: &NormalisedDocument) -> usize {
    let end = document.front_matter.as_ref().map_or(0, |span| span.end);
    if document.body.is_char_boundary(end) { end } else { 0 }
}

fn title(path: &str, document: &NormalisedDocument, heading: Option<String>) -> String {
    let known = document.title.as_deref().map(outline::one_line).or(heading).filter(|title| !title.is_empty());
    known.unwrap_or_else(|| outline::one_line(path.rsplit('/').next().unwrap_or(path)))
}
