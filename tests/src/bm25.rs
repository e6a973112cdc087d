//! Plain BM25 to compare the keyword arm with: every term of every text, no index, no skipping.

use std::collections::{BTreeMap, HashMap};

const K1: f64 = 1.2;
const B: f64 = 0.75;

/// One kind of term of some texts, inverted.
pub struct Bm25 {
    postings: HashMap<String, Vec<(usize, u32)>>,
    lengths: Vec<f64>,
    average: f64,
    norms: bool,
}

impl Bm25 {
    /// Takes the terms of each text. With `norms` longer texts count less; without, all have the average length.
    pub fn new(texts: &[Vec<String>], norms: bool) -> Self {
        let mut postings: HashMap<String, Vec<(usize, u32)>> = HashMap::new();
        for (number, terms) in texts.iter().enumerate() {
            let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
            terms.iter().for_each(|term| *counts.entry(term).or_default() += 1);
            counts
                .into_iter()
                .for_each(|(term, count)| postings.entry(term.to_owned()).or_default().push((number, count)));
        }
        let lengths = texts.iter().map(|terms| kept_length(terms.len())).collect();
        let average = texts.iter().map(Vec::len).sum::<usize>() as f64 / texts.len().max(1) as f64;
        Self { postings, lengths, average, norms }
    }

    /// Adds to each text's score what a term gives it: Lucene's BM25, `idf = ln(1 + (N - df + 0.5) / (df + 0.5))`.
    pub fn add(&self, term: &str, weight: f64, scores: &mut [f64]) {
        let Some(found) = self.postings.get(term) else { return };
        let (all, having) = (self.lengths.len() as f64, found.len() as f64);
        let idf = (1.0 + (all - having + 0.5) / (having + 0.5)).ln();
        for (text, count) in found {
            let length = if self.norms { 1.0 - B + B * self.lengths[*text] / self.average } else { 1.0 };
            let count = f64::from(*count);
            scores[*text] += weight * idf * (K1 + 1.0) * count / (count + K1 * length);
        }
    }
}

/// Lengths as the index keeps them, in one byte: exact up to 40, then the four highest bits above 24 count. This is the
/// rule of Lucene's `SmallFloat.intToByte4`, which the index's table follows.
fn kept_length(length: usize) -> f64 {
    const FREE: usize = 24;
    let rest = length.saturating_sub(FREE);
    let bits = usize::BITS - rest.leading_zeros();
    (if bits < 4 { length } else { FREE + ((rest >> (bits - 4)) << (bits - 4)) }) as f64
}
