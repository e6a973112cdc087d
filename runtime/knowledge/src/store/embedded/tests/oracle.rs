//! The keyword arm against a plain BM25 over the same tokens, on a corpus of several segments.

use groundwork_tests::bm25::Bm25;
use tempfile::TempDir;

use super::{maintainer, open, query, reader};
use crate::store::contract::one_parent;
use crate::store::{DocumentWrite, Filter};

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

fn scores(texts: impl Iterator<Item = String>, words: &[String]) -> Vec<f64> {
    let texts: Vec<Vec<String>> = texts.map(|text| text.split(' ').map(str::to_owned).collect()).collect();
    let bm25 = Bm25::new(&texts, true);
    let mut scores = vec![0.0; texts.len()];
    words.iter().for_each(|word| bm25.add(word, 1.0, &mut scores));
    scores
}

/// Documents of one parent each: their chunks.
type Corpus = Vec<Vec<String>>;

/// Each matching chunk's own score and its parent's, best first.
fn expected(corpus: &Corpus, words: &[String]) -> Vec<f64> {
    let chunks = scores(corpus.iter().flatten().cloned(), words);
    let parents = scores(corpus.iter().map(|chunks| format!("Section {}", chunks.join(" "))), words);
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
