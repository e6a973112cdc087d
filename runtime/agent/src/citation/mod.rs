//! Checking quotes against their spans.
//!
//! A quote passes if it stands in the passage byte for byte, or after folding white space and quotation marks; what is
//! shown is the document's own text in either case. Anything else fails: there is no "almost".

mod book;
mod fold;

#[cfg(test)]
mod tests;

pub(crate) use book::Book;
pub(crate) use fold::is_invisible;

use std::ops::Range;

use crate::answer::CitationCheck;
use crate::passage::Passage;
use fold::Folded;

/// Shorter quotes stand in almost any text. Letters and digits; a character of a script without spaces counts twice.
const SHORTEST_QUOTE: usize = 6;

/// A quote that stands in a passage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Index of the passage.
    pub passage: usize,
    /// Bytes of its text: the quote as the document has it.
    pub range: Range<usize>,
    /// How it was found.
    pub check: CitationCheck,
}

/// Why a quote failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuoteFailure {
    /// Too short to prove anything.
    #[error("the quote is too short to prove anything")]
    TooShort,
    /// In none of the passages.
    #[error("the quote stands in none of the sources")]
    NotFound,
    /// Not in the named passage and in several others.
    #[error("the quote does not stand in the named source, but in several others")]
    Ambiguous,
}

/// Finds `quote` in the passage of this number (from 1), or, if it stands in exactly one other passage, there.
pub fn verify(passages: &[Passage], source: u32, quote: &str) -> Result<Verified, QuoteFailure> {
    let quote = quote.trim();
    if weight(quote) < SHORTEST_QUOTE {
        return Err(QuoteFailure::TooShort);
    }
    let named = (source as usize).checked_sub(1).filter(|index| *index < passages.len());
    if let Some(found) = named.and_then(|index| find_in(passages, index, quote)) {
        return Ok(found);
    }
    let mut others = (0..passages.len()).filter(|index| Some(*index) != named);
    let mut found = others.by_ref().filter_map(|index| find_in(passages, index, quote));
    match (found.next(), found.next()) {
        (Some(only), None) => Ok(only),
        (Some(_), Some(_)) => Err(QuoteFailure::Ambiguous),
        (None, _) => Err(QuoteFailure::NotFound),
    }
}

fn find_in(passages: &[Passage], passage: usize, quote: &str) -> Option<Verified> {
    let (range, check) = find(&passages[passage].text, quote)?;
    Some(Verified { passage, range, check })
}

/// Bytes of `text` that read as `quote`, and how exactly.
pub fn find(text: &str, quote: &str) -> Option<(Range<usize>, CitationCheck)> {
    if quote.is_empty() {
        return None;
    }
    if let Some(start) = text.find(quote) {
        return Some((start..start + quote.len(), CitationCheck::Verbatim));
    }
    let (text, quote) = (Folded::new(text), Folded::new(quote));
    let start = (!quote.text.is_empty()).then(|| text.text.find(&quote.text)).flatten()?;
    Some((text.original(start..start + quote.text.len()), CitationCheck::Normalised))
}

fn weight(quote: &str) -> usize {
    let counted = quote.chars().filter(|c| c.is_alphanumeric());
    counted.map(|c| if u32::from(c) >= 0x2E80 { 2 } else { 1 }).sum()
}
