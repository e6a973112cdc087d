//! A corpus of made-up words, and what a plain BM25 over it gives.

use groundwork_tests::bm25::Bm25;
use std::ops::Range;

use super::DocumentWrite;
use super::contract::one_parent;

/// A small generator (Knuth's MMIX constants) so that the corpus is the same everywhere.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    /// Small numbers often, large ones rarely, as words are.
    fn word(&mut self) -> String {
        let scale = self.below(400) + 1;
        format!("w{}", letters(self.below(scale)))
    }

    /// One to four chunks of a document, each of so many words.
    pub(super) fn chunks(&mut self, words: Range<u64>) -> Vec<String> {
        let text = |random: &mut Self| {
            let length = words.start + random.below(words.end - words.start);
            (0..length).map(|_| random.word()).collect::<Vec<_>>().join(" ")
        };
        (0..1 + self.below(4)).map(|_| text(self)).collect()
    }

    /// Up to five distinct words.
    pub(super) fn question(&mut self) -> Vec<String> {
        let mut words: Vec<String> = (0..5).map(|_| self.word()).collect();
        words.sort();
        words.dedup();
        words
    }
}

fn letters(number: u64) -> String {
    number.to_string().bytes().map(|digit| char::from(b'a' + digit - b'0')).collect()
}

fn scores(texts: impl Iterator<Item = String>, words: &[String]) -> Vec<f64> {
    let texts: Vec<Vec<String>> = texts.map(|text| text.split(' ').map(str::to_owned).collect()).collect();
    let bm25 = Bm25::new(&texts, true);
    let mut scores = vec![0.0; texts.len()];
    words.iter().for_each(|word| bm25.add(word, 1.0, &mut scores));
    scores
}

/// Documents of one parent each: their chunks.
pub(super) type Corpus = Vec<Vec<String>>;

/// Each matching chunk's own score and its parent's, best first.
pub(super) fn expected(corpus: &Corpus, words: &[String]) -> Vec<f64> {
    let chunks = scores(corpus.iter().flatten().cloned(), words);
    let parents = scores(corpus.iter().map(|chunks| format!("Section {}", chunks.join(" "))), words);
    let parent_of = corpus.iter().zip(parents).flat_map(|(chunks, parent)| chunks.iter().map(move |_| parent));
    let matching = chunks.into_iter().zip(parent_of).filter(|(own, _)| *own > 0.0);
    let mut scores: Vec<f64> = matching.map(|(own, parent)| own + parent).collect();
    scores.sort_by(|a, b| b.total_cmp(a));
    scores
}

pub(super) fn written(number: usize, chunks: &[String]) -> DocumentWrite {
    one_parent(&format!("{number}.md"), &chunks.iter().map(String::as_str).collect::<Vec<_>>())
}
