//! The answerer without a model: chooses sentences of the documents.

mod expand;
mod question;
mod select;
mod signals;

#[cfg(test)]
mod cmrc_tests;
#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::confidence::Signals;
use crate::passage::{Evidence, Passage, Retriever};
use crate::terms::{QuestionTerms, ReadPassage, ReadUnit, read};

/// Who wrote an answer of this module.
pub const WRITTEN_BY: &str = "quotes from your documents";

/// A quoted piece of a passage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quoted {
    /// Index of the passage.
    pub passage: usize,
    /// Bytes of its text.
    pub range: Range<usize>,
    /// What an answer shows.
    pub text: String,
}

/// What was chosen, and what speaks for it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choice {
    /// Best first, except that the first two stand in reading order where they are neighbours. Empty if nothing shares a word with the question.
    pub quoted: Vec<Quoted>,
    /// Evidence that they answer the question.
    pub signals: Signals,
    /// The best piece of each passage, in the order of the passages, for showing what is related.
    pub highlights: Vec<Quoted>,
}

/// Chooses at most three sentences (whole lists count as one) that cover what the question asks.
pub fn choose(question: &str, evidence: &Evidence, retriever: &dyn Retriever) -> Choice {
    let terms = QuestionTerms::new(evidence);
    let passages = &evidence.passages;
    let read: Vec<ReadPassage> = passages.iter().map(|passage| read(passage, &terms, retriever)).collect();
    let picks = select::select(question, passages, &read, &terms);
    let signals = signals::signals(question, passages, &read, &terms, retriever);
    let quoted = in_reading_order(picks).into_iter().map(|pick| {
        let units = &read[pick.passage].units;
        Quoted { passage: pick.passage, range: pick.range(units), text: pick.text(units) }
    });
    Choice { quoted: quoted.collect(), signals, highlights: highlights(evidence, &read, &terms) }
}

/// Swaps the first two where the second stands right before the first. A third stays last: it says least.
fn in_reading_order(mut picks: Vec<expand::Pick>) -> Vec<expand::Pick> {
    if let [first, second, ..] = &mut picks[..]
        && first.passage == second.passage
        && second.units.end == first.units.start
    {
        std::mem::swap(first, second);
    }
    picks
}

fn highlights(evidence: &Evidence, read: &[ReadPassage], terms: &QuestionTerms) -> Vec<Quoted> {
    let best = |(passage, parts): (usize, &ReadPassage)| {
        let Passage { text, form, .. } = &evidence.passages[passage];
        let value = |read: &ReadUnit| terms.coverage(&read.terms);
        let best = parts.units.iter().reduce(|a, b| if value(b) > value(a) { b } else { a });
        let matched = || evidence.passages[passage].matches.first().cloned().unwrap_or(0..text.len());
        let range = best.map_or_else(matched, |read| read.unit.range.clone());
        let shown =
            best.map_or_else(|| crate::segment::one_line(&text[range.clone()], *form), |read| read.unit.text.clone());
        Quoted { passage, range, text: shown }
    };
    read.iter().enumerate().map(best).collect()
}
