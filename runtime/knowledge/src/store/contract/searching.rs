use jiff::civil::date;

use super::fixture::{WordEmbedder, dated, document, filled, id, one_parent, paths, reader, tagged, words};
use crate::store::{Filter, KnowledgeStore, Principal, StoreError};

/// As many hits as match come back up to the limit, whatever else would have ranked above them.
pub async fn filters_apply_inside_the_search(store: &dyn KnowledgeStore) {
    let mut documents: Vec<_> =
        (0..30).map(|number| document(&format!("noise/{number}.md"), &["zinc zinc zinc"])).collect();
    documents.push(tagged(dated(document("deep/er/a.md", &["zinc kiln harbor"]), date(2024, 2, 29)), &["ore", "melt"]));
    documents.push(tagged(dated(document("deep/b.md", &["zinc kiln harbor"]), date(2024, 3, 1)), &["ship"]));
    filled(store, documents).await;
    let reader = reader(store).await;
    let paths_of =
        |paths: &[&str]| Filter { paths: paths.iter().map(|&p| p.to_owned()).collect(), ..Filter::default() };
    let tags_of = |tags: &[&str]| Filter { tags: tags.iter().map(|&t| t.to_owned()).collect(), ..Filter::default() };
    let between = |from, until| Filter { from, until, ..Filter::default() };
    let table = [
        (paths_of(&["docs/deep/**"]), vec!["deep/b.md", "deep/er/a.md"]),
        (paths_of(&["docs/deep/*"]), vec!["deep/b.md"]),
        (paths_of(&["docs/deep/er/a.md", "docs/deep/b.*"]), vec!["deep/b.md", "deep/er/a.md"]),
        (tags_of(&["melt", "absent"]), vec!["deep/er/a.md"]),
        (between(Some(date(2024, 3, 1)), None), vec!["deep/b.md"]),
        (between(None, Some(date(2024, 2, 29))), vec!["deep/er/a.md"]),
        (between(Some(date(2024, 2, 29)), Some(date(2024, 3, 1))), vec!["deep/b.md", "deep/er/a.md"]),
        (Filter { exclude_documents: vec![id("deep/b.md")], ..paths_of(&["**/deep/**"]) }, vec!["deep/er/a.md"]),
        (Filter { tags: vec!["ship".into()], ..paths_of(&["docs/deep/er/**"]) }, vec![]),
    ];
    for (filter, expected) in table {
        let hits = reader.search_keywords(&words(&["zinc"]), &filter, 2).await.expect("the search runs");
        let mut found = paths(&*reader, &hits).await;
        found.sort();
        assert_eq!(found, expected, "{filter:?}");
    }
}

/// A bad glob is the asker's mistake, and named.
pub async fn a_filter_that_cannot_be_read_is_named(store: &dyn KnowledgeStore) {
    filled(store, vec![document("a.md", &["zinc"])]).await;
    let filter = Filter { paths: vec!["docs/[".into()], ..Filter::default() };
    let error = reader(store).await.search_keywords(&words(&["zinc"]), &filter, 2).await.expect_err("a bad glob");
    assert!(matches!(error, StoreError::Filter { field: "paths", .. }), "{error:?}");
}

/// Scores worked out by hand; equal texts come in the order of their ids.
pub async fn keyword_scores_are_bm25_and_ties_go_by_chunk(store: &dyn KnowledgeStore) {
    filled(store, vec![document("a.md", &["zinc kiln", "zinc kiln", "zinc zinc zinc kiln", "harbor harbor"])]).await;
    let reader = reader(store).await;
    let hits = reader.search_keywords(&words(&["zinc"]), &Filter::default(), 10).await.expect("the search runs");
    // N 4, n 3: idf = ln(1 + 1.5 / 3.5) = 0.356675; k1 1.2, b 0.75. Chunks have 2.5 words on average:
    // tf 3, length 4: 0.356675 * 2.2 * 3 / (3 + 1.2 * (0.25 + 0.75 * 4 / 2.5)) = 0.496636
    // tf 1, length 2: 0.356675 * 2.2 * 1 / (1 + 1.2 * (0.25 + 0.75 * 2 / 2.5)) = 0.388460
    // Each lies in a parent of its own, with two words more, of title and heading: 4.5 on average.
    // tf 3, length 6: 0.356675 * 2.2 * 3 / (3 + 1.2 * (0.25 + 0.75 * 6 / 4.5)) = 0.523123
    // tf 1, length 4: 0.356675 * 2.2 * 1 / (1 + 1.2 * (0.25 + 0.75 * 4 / 4.5)) = 0.373660
    let scores: Vec<f32> = hits.iter().map(|hit| hit.score).collect();
    for (score, expected) in scores.iter().zip([1.019_759, 0.762_120, 0.762_120]) {
        assert!((score - expected).abs() < 1e-4, "{scores:?}");
    }
    assert_eq!(hits.len(), 3);
    assert!(hits[1].chunk < hits[2].chunk, "ties go by chunk id");
    let first = reader.search_keywords(&words(&["zinc"]), &Filter::default(), 2).await.expect("the search runs");
    assert_eq!(first, hits[..2], "a smaller limit gives the same beginning");
}

/// Of two equal chunks the one whose parent speaks of the rest of the question comes first; a chunk without any word of
/// the question is no hit, whatever its parent says.
pub async fn a_chunk_has_a_share_of_its_parent(store: &dyn KnowledgeStore) {
    let documents = vec![
        one_parent("a.md", &["the kiln is hot", "slate comes by ship"]),
        one_parent("b.md", &["the kiln is hot", "zinc comes by ship"]),
        one_parent("c.md", &["the tide is low", "slate comes by ship"]),
    ];
    filled(store, documents).await;
    let reader = reader(store).await;
    let hits =
        reader.search_keywords(&words(&["zinc", "kiln"]), &Filter::default(), 10).await.expect("the search runs");
    assert_eq!(paths(&*reader, &hits).await, ["b.md", "b.md", "a.md"]);
}

/// Best first by cosine, filtered, and gone with their document.
pub async fn vectors_are_searched_by_cosine(store: &dyn KnowledgeStore) {
    let texts = ["zinc kiln", "zinc zinc kiln", "harbor tide", "slate"];
    let documents = texts.iter().enumerate().map(|(at, text)| document(&format!("{at}.md"), &[text])).collect();
    let maintainer = filled(store, documents).await;
    let embedder = WordEmbedder::new("words");
    let progress = maintainer.embed_pending(&embedder, 100).await.expect("chunks are embedded");
    assert_eq!((progress.embedded, progress.skipped, progress.remaining), (4, 0, 0));
    let reader = reader(store).await;
    let query = WordEmbedder::vector("zinc");
    let cosine = |text: &str| -> f32 { WordEmbedder::vector(text).iter().zip(&query).map(|(a, b)| a * b).sum() };
    let hits = reader.search_vectors(&query, &Filter::default(), 10).await.expect("the search runs");
    let mut expected: Vec<f32> = texts.iter().map(|text| cosine(text)).collect();
    expected.sort_by(|a, b| b.total_cmp(a));
    let scores: Vec<f32> = hits.iter().map(|hit| hit.score).collect();
    assert!(scores.len() == 4 && scores.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-5), "{scores:?}");
    let filter = Filter { exclude_documents: vec![id("0.md")], ..Filter::default() };
    let best = reader.search_vectors(&query, &filter, 1).await.expect("the search runs");
    assert_eq!(paths(&*reader, &best).await, ["1.md"]);
    maintainer.delete_documents(&[id("1.md")]).await.expect("documents are deleted");
    let left = reader.search_vectors(&query, &filter, 10).await.expect("the search runs");
    assert_eq!(left.len(), 2);
}

/// Vectors of another length cannot be compared.
pub async fn a_query_vector_of_another_length_is_refused(store: &dyn KnowledgeStore) {
    let maintainer = filled(store, vec![document("a.md", &["zinc"])]).await;
    let reader = reader(store).await;
    let none = reader.search_vectors(&[1.0; 3], &Filter::default(), 5).await.expect("there is nothing to compare with");
    assert!(none.is_empty());
    maintainer.embed_pending(&WordEmbedder::new("words"), 10).await.expect("chunks are embedded");
    let error = reader.search_vectors(&[1.0; 3], &Filter::default(), 5).await.expect_err("3 are not 8");
    assert!(matches!(error, StoreError::Dimensions { expected: 8, got: 3 }), "{error:?}");
    let principal = Principal { subject: "somebody".into(), groups: vec!["staff".into()] };
    let other = store.reader(&principal).await.expect("the store answers").expect("a revision is active");
    let hits = other.search_vectors(&WordEmbedder::vector("zinc"), &Filter::default(), 5).await;
    assert_eq!(hits.expect("the search runs").len(), 1, "documents without an access list are everybody's");
}
