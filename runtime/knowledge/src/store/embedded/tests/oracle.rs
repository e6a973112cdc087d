//! The keyword arm against a plain BM25 over the same tokens, on a corpus of several segments.

use tempfile::TempDir;

use super::{maintainer, open, query, reader};
use crate::store::Filter;
use crate::store::oracle::{Corpus, Random, expected, written};

#[tokio::test]
async fn the_top_hundred_equal_a_plain_bm25_also_after_changes() {
    let mut random = Random(42);
    let chunks = |random: &mut Random| random.chunks(5..95);
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
    let queries: Vec<Vec<String>> = (0..20).map(|_| random.question()).collect();
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
