//! The keyword arm against a plain BM25 over the same tokens, on a corpus of several segments.

use std::collections::HashMap;
use tempfile::TempDir;

use super::{maintainer, open, query, reader};
use crate::store::contract::one_parent;
use crate::store::{DocumentWrite, Filter};

/// Lengths as the index keeps them, in one byte: exact up to 40, then in steps. This is the rule of Lucene's
/// `SmallFloat.intToByte4`, which the index's table follows: the four highest bits count.
fn kept_length(length: u32) -> u32 {
    const FREE: u32 = 24;
    if length < FREE {
        return length;
    }
    let rest = length - FREE;
    let bits = 32 - rest.leading_zeros();
    if bits < 4 { length } else { FREE + ((rest >> (bits - 4)) << (bits - 4)) }
}

/// A small generator (Knuth's MMIX constants) so that the corpus is the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    /// Small numbers often, large ones rarely, as words are.
    fn word(&mut self) -> String {
        let scale = self.below(400) + 1;
        format!("w{}", letters(self.below(scale)))
    }
}

fn letters(number: u64) -> String {
    number.to_string().bytes().map(|digit| char::from(b'a' + digit - b'0')).collect()
}

/// Plain BM25 over texts of words.
struct Oracle {
    texts: Vec<(HashMap<String, u32>, u32)>,
    average: f64,
}

impl Oracle {
    fn new(texts: impl Iterator<Item = String>) -> Self {
        let counted = |text: String| {
            let mut counts = HashMap::new();
            text.split(' ').for_each(|word| *counts.entry(word.to_owned()).or_default() += 1);
            (counts, text.split(' ').count() as u32)
        };
        let texts: Vec<_> = texts.map(counted).collect();
        let average = texts.iter().map(|text| f64::from(text.1)).sum::<f64>() / texts.len() as f64;
        Self { texts, average }
    }

    fn scores(&self, words: &[String]) -> Vec<f64> {
        let frequency = |word: &String| self.texts.iter().filter(|text| text.0.contains_key(word)).count() as f64;
        let total = self.texts.len() as f64;
        let idf: Vec<f64> = words.iter().map(frequency).map(|n| (1.0 + (total - n + 0.5) / (n + 0.5)).ln()).collect();
        let score = |(counts, length): &(HashMap<String, u32>, u32)| -> f64 {
            let norm = 1.2 * (0.25 + 0.75 * f64::from(kept_length(*length)) / self.average);
            let term = |(word, idf): (&String, &f64)| {
                let tf = f64::from(counts.get(word).copied().unwrap_or(0));
                idf * 2.2 * tf / (tf + norm)
            };
            words.iter().zip(&idf).map(term).sum()
        };
        self.texts.iter().map(score).collect()
    }
}

/// Documents of one parent each: their chunks.
type Corpus = Vec<Vec<String>>;

/// Each matching chunk's own score and its parent's, best first.
fn expected(corpus: &Corpus, words: &[String]) -> Vec<f64> {
    let chunks = Oracle::new(corpus.iter().flatten().cloned()).scores(words);
    let parents = Oracle::new(corpus.iter().map(|chunks| format!("Section {}", chunks.join(" ")))).scores(words);
    let parent_of = corpus.iter().zip(parents).flat_map(|(chunks, parent)| chunks.iter().map(move |_| parent));
    let matching = chunks.into_iter().zip(parent_of).filter(|(own, _)| *own > 0.0);
    let mut scores: Vec<f64> = matching.map(|(own, parent)| own + parent).collect();
    scores.sort_by(|a, b| b.total_cmp(a));
    scores
}

fn written(number: usize, chunks: &[String]) -> DocumentWrite {
    one_parent(&format!("{number}.md"), &chunks.iter().map(String::as_str).collect::<Vec<_>>())
}

#[tokio::test]
async fn the_top_hundred_equal_a_plain_bm25_also_after_changes() {
    let mut random = Random(42);
    let chunks = |random: &mut Random| -> Vec<String> {
        let text = |random: &mut Random| {
            let length = 5 + random.below(90);
            (0..length).map(|_| random.word()).collect::<Vec<_>>().join(" ")
        };
        (0..1 + random.below(4)).map(|_| text(random)).collect()
    };
    let folder = TempDir::new().unwrap();
    let store = open(folder.path()).await;
    let maintainer = maintainer(&store).await;
    let mut corpus: Corpus = (0..1500).map(|_| chunks(&mut random)).collect();
    let documents: Vec<_> = corpus.iter().enumerate().map(|(number, chunks)| written(number, chunks)).collect();
    for part in documents.chunks(500) {
        maintainer.write_documents(1, part.to_vec()).await.unwrap();
        maintainer.flush().await.unwrap();
    }
    maintainer.activate().await.unwrap();
    let queries: Vec<Vec<String>> = (0..20)
        .map(|_| {
            let mut words: Vec<String> = (0..5).map(|_| random.word()).collect();
            words.sort();
            words.dedup();
            words
        })
        .collect();
    for round in 0..2 {
        let reader = reader(&store).await;
        for words in &queries {
            let words_query = query(&words.iter().map(String::as_str).collect::<Vec<_>>());
            let hits = reader.search_keywords(&words_query, &Filter::default(), 100).await.unwrap();
            let expected = expected(&corpus, words);
            assert_eq!(hits.len(), expected.len().min(100), "{words:?}");
            for (hit, score) in hits.iter().zip(&expected) {
                assert!((f64::from(hit.score) - score).abs() < 1e-4, "round {round} {words:?}: {} {score}", hit.score);
            }
        }
        // Every seventh document is another: statistics must follow, although the old ones still lie in the index.
        corpus.iter_mut().step_by(7).for_each(|old| *old = chunks(&mut random));
        let changed = corpus.iter().enumerate().step_by(7).map(|(number, chunks)| written(number, chunks)).collect();
        maintainer.write_documents(2, changed).await.unwrap();
    }
}
