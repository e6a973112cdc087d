//! What the question's terms are worth, and which of them a text has.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use crate::function_words::only_asks;
use crate::passage::{Evidence, Passage, QueryTermKind, Retriever};
use crate::segment::{Unit, UnitKind, units};

/// The question's distinct terms with their inverse document frequency.
#[derive(Clone, Debug, Default)]
pub(crate) struct QuestionTerms {
    index: HashMap<String, usize>,
    /// Weight of each term.
    pub(crate) weights: Vec<f32>,
    /// Their sum.
    pub(crate) mass: f32,
}

impl QuestionTerms {
    pub(crate) fn new(evidence: &Evidence) -> Self {
        let mut terms = Self::default();
        let words = || evidence.terms.iter().filter(|term| term.kind != QueryTermKind::Phrase);
        let says_something = words().any(|term| !only_asks(&term.surface));
        for term in words() {
            if terms.index.contains_key(&term.term) {
                continue;
            }
            let weightless = says_something && only_asks(&term.surface);
            let frequency = inverse_frequency(evidence.chunks_searched, term.chunk_frequency);
            let weight = if weightless { 0.0 } else { frequency };
            terms.index.insert(term.term.clone(), terms.weights.len());
            terms.weights.push(weight);
            terms.mass += weight;
        }
        terms
    }

    /// Share of the mass that a set of terms has, 0 to 1.
    pub(crate) fn coverage(&self, set: &TermSet) -> f32 {
        if self.mass == 0.0 { 0.0 } else { set.iter().map(|term| self.weights[*term]).sum::<f32>() / self.mass }
    }

    pub(crate) fn find(&self, term: &str) -> Option<usize> {
        self.index.get(term).copied()
    }
}

/// Numbers of question terms, in order: a sum of their weights rounds the same way each time.
pub(crate) type TermSet = BTreeSet<usize>;

/// The idf of BM25 as Lucene computes it: ln(1 + (N - n + 0.5) / (n + 0.5)).
fn inverse_frequency(chunks: u64, frequency: u64) -> f32 {
    let (chunks, frequency) = (chunks.max(frequency) as f32, frequency as f32);
    (1.0 + (chunks - frequency + 0.5) / (frequency + 0.5)).ln()
}

/// A passage cut into units, with the question's terms found in each part.
#[derive(Debug)]
pub(crate) struct ReadPassage {
    pub(crate) units: Vec<ReadUnit>,
    /// Terms in title and headings.
    pub(crate) heading: TermSet,
    /// Terms anywhere in the passage's text.
    pub(crate) body: TermSet,
    /// One entry a token of the text, in order.
    pub(crate) sequence: Vec<Option<usize>>,
}

#[derive(Debug)]
pub(crate) struct ReadUnit {
    pub(crate) unit: Unit,
    pub(crate) terms: TermSet,
    /// Distinct terms of any kind, for telling repeated statements.
    pub(crate) words: HashSet<String>,
}

pub(crate) fn read(passage: &Passage, terms: &QuestionTerms, retriever: &dyn Retriever) -> ReadPassage {
    let tokens = retriever.analyse(&passage.text);
    let above = format!("{}\n{}", passage.title, passage.heading_path.join("\n"));
    let heading = retriever.analyse(&above).iter().filter_map(|(term, _)| terms.find(term)).collect();
    let sequence: Vec<Option<usize>> = tokens.iter().map(|(term, _)| terms.find(term)).collect();
    let body = sequence.iter().flatten().copied().collect();
    let read = units(&passage.text, passage.form, passage.table_header.as_deref()).into_iter().map(|unit| {
        let words: HashSet<String> = match unit.kind {
            UnitKind::TableRow => retriever.analyse(&unit.text).into_iter().map(|(term, _)| term).collect(),
            _ => inside(&tokens, &unit.range).cloned().collect(),
        };
        ReadUnit { terms: words.iter().filter_map(|word| terms.find(word)).collect(), words, unit }
    });
    ReadPassage { units: read.collect(), heading, body, sequence }
}

fn inside<'a>(tokens: &'a [(String, Range<usize>)], range: &'a Range<usize>) -> impl Iterator<Item = &'a String> {
    tokens.iter().filter(|(_, span)| span.start >= range.start && span.end <= range.end).map(|(term, _)| term)
}
