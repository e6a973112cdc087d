//! Keyword analysis: one analyser for documents and queries.

use std::ops::Range;

/// A keyword term with its place in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The folded term.
    pub term: String,
    /// Bytes of the text that it stands for.
    pub span: Range<usize>,
    /// Whether it counts in the text's length.
    pub kind: TokenKind,
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// An ordinary term.
    Word,
    /// A joined spelling of an identifier (`ax3000`, `maxretrycount`): searched in a field of its own, not counted in
    /// the length.
    Identifier,
}
