//! Keyword terms as sparse vectors.
//!
//! The score of a text is the dot product of its weights with the query's, where the server multiplies each query weight
//! by the term's inverse document frequency (`Modifier::Idf`, the same formula as Lucene's). So a text's weight is what
//! BM25 leaves after that: its saturated term frequency, `tf (k1 + 1) / (tf + k1 (1 - b + b length / average))`
//! (Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009).

use qdrant_client::qdrant::SparseVector;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

use crate::analyse::{Token, TokenKind};
use crate::store::KeywordQuery;

/// Steepness of the saturation.
const K1: f32 = 1.2;
/// Share of the length's influence.
const B: f32 = 0.75;
/// Before an identifier in a list of terms: words have letters and digits only.
const IDENTIFIER: char = '=';

/// Terms of a text with their frequency, and its length.
#[derive(Clone, Debug, Default)]
pub(super) struct Counted {
    /// Terms as [`word`] and [`identifier`] write them.
    terms: BTreeMap<String, u32>,
    /// Words, without identifiers.
    pub(super) words: u64,
}

impl Counted {
    /// Counts an analysed text.
    pub(super) fn of(tokens: Vec<Token>) -> Self {
        let mut counted = Self::default();
        for token in tokens {
            let term = match token.kind {
                TokenKind::Word => {
                    counted.words += 1;
                    token.term
                }
                TokenKind::Identifier => identifier(&token.term),
            };
            *counted.terms.entry(term).or_default() += 1;
        }
        counted
    }

    /// The distinct terms.
    pub(super) fn distinct(&self) -> Vec<String> {
        self.terms.keys().cloned().collect()
    }

    /// The weights of a text among texts of `average` words; none where it has no term.
    pub(super) fn weights(&self, average: f32) -> Option<SparseVector> {
        let norm = K1 * (1.0 - B + B * self.words as f32 / average.max(f32::MIN_POSITIVE));
        let weight = |(term, &count): (&String, &u32)| {
            // Identifiers are not counted in a length, so that none can be long in them.
            let norm = if term.starts_with(IDENTIFIER) { K1 } else { norm };
            (term.clone(), count as f32 * (K1 + 1.0) / (count as f32 + norm))
        };
        sparse(self.terms.iter().map(weight))
    }
}

/// The weights of a query; none where it has no term.
pub(super) fn query(query: &KeywordQuery) -> Option<SparseVector> {
    let words = query.words.iter().map(|(term, count)| (term.clone(), *count));
    let identifiers = query.identifiers.iter().map(|(term, count)| (identifier(term), *count));
    sparse(words.chain(identifiers).map(|(term, count)| (term, count.max(1) as f32)))
}

/// The query's terms in its order, words first, as lists of terms have them.
pub(super) fn listed(query: &KeywordQuery) -> Vec<String> {
    let identifiers = query.identifiers.iter().map(|(term, _)| identifier(term));
    query.words.iter().map(|(term, _)| term.clone()).chain(identifiers).collect()
}

/// A term of a list as it is spelled.
pub(super) fn spelled(listed: &str) -> &str {
    listed.strip_prefix(IDENTIFIER).unwrap_or(listed)
}

fn identifier(term: &str) -> String {
    format!("{IDENTIFIER}{term}")
}

fn sparse(terms: impl Iterator<Item = (String, f32)>) -> Option<SparseVector> {
    let mut weights: BTreeMap<u32, f32> = BTreeMap::new();
    for (term, weight) in terms {
        *weights.entry(dimension(&term)).or_default() += weight;
    }
    let (indices, values): (Vec<_>, Vec<_>) = weights.into_iter().unzip();
    (!indices.is_empty()).then_some(SparseVector { indices, values })
}

/// A term's place among 2^32: of half a million terms, about thirty pairs share one.
fn dimension(term: &str) -> u32 {
    let hash = Sha256::digest(term);
    u32::from_le_bytes([hash[0], hash[1], hash[2], hash[3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(text: &str) -> Counted {
        let tokens = text.split(' ').map(|word| Token {
            kind: if word.contains('-') { TokenKind::Identifier } else { TokenKind::Word },
            term: word.to_owned(),
            span: 0..0,
        });
        Counted::of(tokens.collect())
    }

    #[test]
    fn weights_are_saturated_frequencies() {
        let text = counted("zinc zinc zinc kiln a-1");
        assert_eq!((text.words, text.distinct()), (4, vec!["=a-1".to_owned(), "kiln".into(), "zinc".into()]));
        let weights = text.weights(2.5).expect("it has terms");
        let weight = |term: &str| {
            let place = weights.indices.iter().position(|&index| index == dimension(term)).expect("it is there");
            weights.values[place]
        };
        // norm = 1.2 * (0.25 + 0.75 * 4 / 2.5) = 1.74: 3 * 2.2 / 4.74, 1 * 2.2 / 2.74; an identifier's norm is 1.2.
        for (term, expected) in [("zinc", 1.392_405), ("kiln", 0.802_920), ("=a-1", 1.0)] {
            assert!((weight(term) - expected).abs() < 1e-5, "{term}: {}", weight(term));
        }
        assert_eq!(
            counted("").weights(2.5).map(|weights| weights.indices.len()),
            Some(1),
            "an empty word is a term here"
        );
        assert_eq!(Counted::of(Vec::new()).weights(2.5), None);
    }
}
