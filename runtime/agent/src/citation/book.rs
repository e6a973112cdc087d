use std::ops::Range;

use crate::answer::{Citation, CitationCheck};
use crate::passage::Passage;

/// Length of the text shown around a quote, in bytes.
const AROUND: usize = 240;

/// Numbers citations in the order of first use; the same place has one number.
pub(crate) struct Book<'a> {
    passages: &'a [Passage],
    places: Vec<(usize, Range<usize>)>,
    citations: Vec<Citation>,
}

impl<'a> Book<'a> {
    pub(crate) fn new(passages: &'a [Passage]) -> Self {
        Self { passages, places: Vec::new(), citations: Vec::new() }
    }

    /// Number of the citation of these bytes of the passage.
    pub(crate) fn cite(&mut self, passage: usize, range: Range<usize>, check: CitationCheck) -> u32 {
        let place = (passage, range.clone());
        if let Some(known) = self.places.iter().position(|other| *other == place) {
            return self.citations[known].number;
        }
        let number = self.citations.len() as u32 + 1;
        self.citations.push(citation(&self.passages[passage], range, number, check));
        self.places.push(place);
        number
    }

    pub(crate) fn into_citations(self) -> Vec<Citation> {
        self.citations
    }
}

fn citation(passage: &Passage, range: Range<usize>, number: u32, check: CitationCheck) -> Citation {
    let text = &passage.text;
    Citation {
        number,
        chunk_id: chunk_of(passage, &range).to_owned(),
        document_id: passage.document_id.clone(),
        document: passage.document.clone(),
        title: passage.title.clone(),
        heading_path: passage.heading_path.clone(),
        locator: passage.locator.clone(),
        before: before(&text[..range.start]).to_owned(),
        quote: text[range.clone()].to_owned(),
        after: after(&text[range.end..]).to_owned(),
        check,
        arms: passage.arms.clone(),
    }
}

/// The chunk that has most of the range; overlapping chunks share text, so the first of equals.
fn chunk_of<'a>(passage: &'a Passage, range: &Range<usize>) -> &'a str {
    let shared = |chunk: &Range<usize>| chunk.end.min(range.end).saturating_sub(chunk.start.max(range.start));
    let best = passage.chunks.iter().reduce(|a, b| if shared(&b.1) > shared(&a.1) { b } else { a });
    best.filter(|(_, chunk)| shared(chunk) > 0).map_or(&passage.chunk_id, |(id, _)| id)
}

/// The end of the text, from a word's beginning on.
fn before(text: &str) -> &str {
    if text.len() <= AROUND {
        return text;
    }
    let start = text.ceil_char_boundary(text.len() - AROUND);
    let word = text[start..].find(char::is_whitespace).filter(|at| *at < AROUND / 4).unwrap_or(0);
    text[start + word..].trim_start()
}

/// The beginning of the text, up to a word's end.
fn after(text: &str) -> &str {
    if text.len() <= AROUND {
        return text;
    }
    let end = text.floor_char_boundary(AROUND);
    let word = text[..end].rfind(char::is_whitespace).filter(|at| *at > end - AROUND / 4).unwrap_or(end);
    text[..word].trim_end()
}
