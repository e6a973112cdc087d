//! Keyword analysis: one analyser for documents and queries.
//!
//! A text is cut into runs of letters and digits, folded (NFKC, lower case) and stemmed; stop words go. Scripts written
//! without spaces between words become overlapping bigrams. With identifier folding, spellings of an identifier meet:
//! `AX-3000`, `AX 3000` and `AX3000` have the parts `ax` and `3000` and the joined form `ax3000`. Without it the tokens
//! are those of Lucene's `EnglishAnalyzer`, up to the stemmer's version (Snowball English instead of Porter).
//!
//! Whatever changes a token raises [`groundwork_config::ANALYSER_VERSION`].

use groundwork_config::Keyword;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::store::KeywordQuery;

mod character;
mod fold;
mod identifier;
mod language;
mod scan;
mod write;

#[cfg(test)]
mod tests;

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

/// Turns text into keyword terms. Cheap to clone; equal settings give equal tokens on every machine.
#[derive(Clone)]
pub struct Analyser {
    rules: Arc<language::Rules>,
    fold_identifiers: bool,
}

impl Analyser {
    /// An analyser with a contract's settings.
    pub fn new(keyword: &Keyword) -> Self {
        Self { rules: Arc::new(language::Rules::of(keyword.language)), fold_identifiers: keyword.fold_identifiers }
    }

    /// The tokens of a text in its order; a joined identifier follows its parts. Spans are bytes of `text` as it is,
    /// before folding.
    pub fn analyse(&self, text: &str) -> Vec<Token> {
        let writer = write::Writer::new(text, &self.rules);
        if self.fold_identifiers { writer.identifiers() } else { writer.words() }
    }

    /// The distinct terms of a query with their counts, in the order of their first appearance.
    pub fn query(&self, text: &str) -> KeywordQuery {
        let mut query = KeywordQuery::default();
        for token in self.analyse(text) {
            let terms = match token.kind {
                TokenKind::Word => &mut query.words,
                TokenKind::Identifier => &mut query.identifiers,
            };
            match terms.iter_mut().find(|(term, _)| *term == token.term) {
                Some((_, count)) => *count += 1,
                None => terms.push((token.term, 1)),
            }
        }
        query
    }
}

/// Makes the keyword terms of a text.
pub type Tokenise = Arc<dyn Fn(&str) -> Vec<Token> + Send + Sync>;

/// The product's analyser as a function.
pub(crate) fn tokenise(keyword: &Keyword) -> Tokenise {
    let analyser = Analyser::new(keyword);
    Arc::new(move |text| analyser.analyse(text))
}

impl fmt::Debug for Analyser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Analyser").field("fold_identifiers", &self.fold_identifiers).finish_non_exhaustive()
    }
}
