use async_trait::async_trait;
use groundwork_config::{ArmWeights, Fusion, Keyword, Retrieval, RetrievalMode};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use uuid::Uuid;

use super::arm::{self, ArmList, RankedParent, by_parent};
use super::fusion::fuse;
use super::*;
use crate::analyse::Analyser;
use crate::embed::{EmbedError, EmbedKind, Embedder, EmbedderProfile};
use crate::identity::{ChunkId, DocumentId};
use crate::store::contract::{WordEmbedder, document, one_parent};
use crate::store::embedded::{EmbeddedOptions, EmbeddedStore};
use crate::store::{ChunkHit, KnowledgeStore, Maintainer, ParentKey, Principal};

fn key(number: u128) -> ParentKey {
    ParentKey { document: DocumentId(Uuid::from_u128(number)), ordinal: 0 }
}

fn list(arm: Arm, weight: f32, parents: &[(u128, f32)]) -> ArmList {
    let parent = |(index, &(number, score)): (usize, &(u128, f32))| RankedParent {
        key: key(number),
        score,
        chunks: vec![(ChunkId(Uuid::from_u128(number)), index as u32 + 1)],
    };
    let parents = parents.iter().enumerate().map(parent).collect();
    ArmList { arm, weight, parents, elapsed: Duration::ZERO }
}

fn fused(lists: &[ArmList], fusion: Fusion) -> Vec<(u128, f32)> {
    fuse(lists, fusion).into_iter().map(|fused| (fused.key.document.0.as_u128(), fused.score)).collect()
}

fn close(got: &[(u128, f32)], expected: &[(u128, f32)]) {
    assert_eq!(got.len(), expected.len(), "{got:?}");
    for (got, expected) in got.iter().zip(expected) {
        assert!(got.0 == expected.0 && (got.1 - expected.1).abs() < 1e-6, "{got:?} {expected:?}");
    }
}

#[test]
fn reciprocal_ranks_add_up() {
    let keyword = list(Arm::Keyword, 1.0, &[(1, 9.0), (2, 8.0), (3, 7.0)]);
    let vector = list(Arm::Vector, 1.0, &[(4, 0.9), (5, 0.8), (2, 0.7), (1, 0.6)]);
    let first = 1.0 / 61.0 + 1.0 / 64.0;
    let second = 1.0 / 62.0 + 1.0 / 63.0;
    let expected = [(1, first), (2, second), (4, 1.0 / 61.0), (5, 1.0 / 62.0), (3, 1.0 / 63.0)];
    close(&fused(&[keyword, vector], Fusion::Rrf { k: 60 }), &expected);
    assert!((first - 0.032_018).abs() < 1e-6, "1/61 + 1/64");
}

#[test]
fn relative_scores_scale_each_list_to_one_and_count_a_missing_hit_as_nothing() {
    let keyword = list(Arm::Keyword, 0.8, &[(1, 10.0), (2, 6.0), (3, 2.0)]);
    let vector = list(Arm::Vector, 0.2, &[(3, 0.9), (4, 0.5), (1, 0.4)]);
    // 1: 0.8 * 1 + 0.2 * 0; 2: 0.8 * 0.5; 3: 0.8 * 0 + 0.2 * 1; 4: 0.2 * 0.1 / 0.5.
    close(&fused(&[keyword, vector], Fusion::RelativeScore), &[(1, 0.8), (2, 0.4), (3, 0.2), (4, 0.04)]);
}

#[test]
fn a_single_hit_and_equal_scores_scale_to_one_and_ties_go_by_document() {
    let keyword = list(Arm::Keyword, 0.5, &[(7, 3.0)]);
    let vector = list(Arm::Vector, 0.5, &[(9, 0.4), (2, 0.4)]);
    close(&fused(&[keyword, vector], Fusion::RelativeScore), &[(2, 0.5), (7, 0.5), (9, 0.5)]);
}

#[test]
fn a_parent_has_its_best_chunks_score_and_all_its_chunks() {
    let hit = |chunk: u128, parent: u128, score: f32| ChunkHit {
        chunk: ChunkId(Uuid::from_u128(chunk)),
        parent: key(parent),
        score,
    };
    let parents = by_parent(&[hit(1, 10, 5.0), hit(2, 20, 4.0), hit(3, 10, 3.0), hit(4, 30, 2.0)], 2);
    let seen: Vec<_> = parents.iter().map(|parent| (parent.key, parent.score, parent.chunks.len())).collect();
    assert_eq!(seen, [(key(10), 5.0, 2), (key(20), 4.0, 1)]);
    assert_eq!(parents[0].chunks[1].1, 3, "its rank among all chunks");
}

#[tokio::test]
async fn an_arm_asks_for_more_until_it_has_enough_parents() {
    // Ten chunks a parent: 4 parents need 31 chunks.
    let all: Vec<ChunkHit> = (0..200u128)
        .map(|at| ChunkHit { chunk: ChunkId(Uuid::from_u128(at)), parent: key(at / 10), score: 200.0 - at as f32 })
        .collect();
    let asked = std::sync::Mutex::new(Vec::new());
    let search = |limit: usize| {
        asked.lock().unwrap().push(limit);
        let hits = all.iter().take(limit).cloned().collect();
        async move { Ok(hits) }
    };
    let list = arm::fetch(Arm::Keyword, 4, search).await.unwrap();
    assert_eq!((list.parents.len(), asked.lock().unwrap().as_slice()), (4, [8, 16, 32].as_slice()));
    let list = arm::fetch(Arm::Keyword, 50, search).await.unwrap();
    assert_eq!(list.parents.len(), 20, "all there are");
}

struct Fixture {
    _folder: TempDir,
    store: EmbeddedStore,
    maintainer: Arc<dyn Maintainer>,
}

async fn fixture() -> Fixture {
    let folder = TempDir::new().unwrap();
    let store = EmbeddedStore::open(folder.path(), EmbeddedOptions::default()).await.unwrap();
    let lease = store.lease().await.unwrap();
    let maintainer = store.maintainer(&lease, &groundwork_config::Contract::default()).await.unwrap();
    let documents = vec![
        document("a.md", &["zinc kiln", "harbor tide slate"]),
        document("b.md", &["zinc zinc zinc", "ember"]),
        one_parent("c.md", &["kiln", "kiln zinc", "slate"]),
    ];
    maintainer.write_documents(1, documents).await.unwrap();
    maintainer.activate().await.unwrap();
    Fixture { _folder: folder, store, maintainer }
}

impl Fixture {
    async fn searcher(&self, embedder: Option<Arc<dyn Embedder>>) -> Searcher {
        let reader = self.store.reader(&Principal::local()).await.unwrap().unwrap();
        Searcher { reader, analyser: Analyser::new(&Keyword::default()), embedder }
    }
}

fn request(query: &str, mode: RetrievalMode) -> SearchRequest {
    SearchRequest { mode, ..SearchRequest::new(query, &Retrieval::default()) }
}

#[tokio::test]
async fn a_hybrid_search_shows_each_arms_view_and_the_matching_chunks() {
    let fixture = fixture().await;
    let embedder: Arc<dyn Embedder> = Arc::new(WordEmbedder::new("words"));
    let searcher = fixture.searcher(Some(Arc::clone(&embedder))).await;
    let before = searcher.search(&request("kiln", RetrievalMode::Hybrid)).await.unwrap();
    assert!(before.notes.iter().any(|note| note.contains("0 % complete")), "{:?}", before.notes);
    fixture.maintainer.embed_pending(&*embedder, 100).await.unwrap();
    let result = searcher.search(&request("kiln", RetrievalMode::Hybrid)).await.unwrap();
    assert!(result.notes.is_empty(), "{:?}", result.notes);
    let arms: Vec<_> = result.arms.iter().map(|arm| (arm.arm, arm.weight)).collect();
    assert_eq!(arms, [(Arm::Keyword, 0.5), (Arm::Vector, 0.5)]);
    let hit = result.hits.iter().find(|hit| hit.parent.document.path == "c.md").unwrap();
    assert_eq!(hit.arms.iter().map(|arm| arm.arm).collect::<Vec<_>>(), [Arm::Keyword, Arm::Vector]);
    assert_eq!(&hit.parent.text[hit.chunks[0].1.clone()], "kiln");
    assert!(result.hits.windows(2).all(|pair| pair[0].score >= pair[1].score));
    let (request_given, vector) = (request("kiln", RetrievalMode::Hybrid), WordEmbedder::vector("kiln"));
    let given = searcher.search_with_vector(&request_given, &vector);
    let scores = |result: &SearchResult| result.hits.iter().map(|hit| hit.score).collect::<Vec<_>>();
    assert_eq!(scores(&given.await.unwrap()), scores(&result));
    let weights = Some(ArmWeights { keyword_milli: 1000, vector_milli: 0 });
    let keyword = searcher.search(&SearchRequest { weights, ..request("zinc", RetrievalMode::Hybrid) }).await.unwrap();
    assert_eq!(keyword.hits[0].parent.document.path, "b.md");
}

#[tokio::test]
async fn top_k_and_filter_are_kept() {
    let fixture = fixture().await;
    let searcher = fixture.searcher(None).await;
    let request = SearchRequest { top_k: 1, ..request("zinc", RetrievalMode::Hybrid) };
    assert_eq!(searcher.search(&request).await.unwrap().hits.len(), 1);
    let filter = crate::store::Filter { paths: vec!["docs/a.md".into()], ..Default::default() };
    let hits = searcher.search(&SearchRequest { top_k: 9, filter, ..request }).await.unwrap().hits;
    assert_eq!(hits.iter().map(|hit| hit.parent.document.path.as_str()).collect::<Vec<_>>(), ["a.md"]);
}

/// Understands English only, and cannot be reached.
struct Away(EmbedderProfile);

#[async_trait]
impl Embedder for Away {
    fn profile(&self) -> &EmbedderProfile {
        &self.0
    }

    async fn embed(&self, _kind: EmbedKind, _texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        Err(EmbedError::Unavailable { identity: "away".into(), reason: "connection refused".into() })
    }
}

#[tokio::test]
async fn without_a_dense_arm_a_hybrid_search_says_why_and_a_dense_one_fails() {
    let fixture = fixture().await;
    let profile = WordEmbedder::new("away").profile().clone();
    let away = Away(EmbedderProfile { languages: Some(vec!["eng"]), ..profile });
    let searcher = fixture.searcher(Some(Arc::new(away))).await;
    let result = searcher.search(&request("zinc", RetrievalMode::Hybrid)).await.unwrap();
    assert_eq!((result.hits.len(), result.arms.len()), (3, 1));
    assert!(result.notes[0].contains("connection refused"), "{:?}", result.notes);
    let error = searcher.search(&request("zinc", RetrievalMode::Vector)).await.unwrap_err();
    assert!(matches!(error, SearchError::Embed(_)), "{error:?}");
    let foreign = searcher.search(&request("请假制度", RetrievalMode::Hybrid)).await.unwrap();
    assert!(foreign.notes[0].contains("language"), "{:?}", foreign.notes);
    let error = fixture.searcher(None).await.search(&request("zinc", RetrievalMode::Vector)).await.unwrap_err();
    assert!(matches!(error, SearchError::NoEmbedder), "{error:?}");
}

async fn hits_of(fixture: &Fixture, query: &str) -> Vec<Hit> {
    fixture.searcher(None).await.search(&request(query, RetrievalMode::Keyword)).await.unwrap().hits
}

#[tokio::test]
async fn neighbours_are_joined_and_their_matches_moved() {
    let fixture = fixture().await;
    let hits = hits_of(&fixture, "kiln harbor").await;
    let passages = select_passages(&hits, 1000);
    let a = passages.iter().find(|passage| passage.document.path == "a.md").unwrap();
    assert_eq!(a.text, "zinc kiln\nharbor tide slate\n");
    assert_eq!((a.tokens, a.offset, a.chunks.len(), a.heading_path.len()), (20, 0, 2, 0));
    assert_eq!(a.locator, crate::document::Locator::Lines { first: 1, last: 2 });
    let mut matched: Vec<_> = a.matches.iter().map(|(_, range)| &a.text[range.clone()]).collect();
    matched.sort_unstable();
    assert_eq!(matched, ["harbor tide slate", "zinc kiln"]);
    assert_eq!(
        a.chunks.iter().map(|chunk| &a.text[chunk.range.clone()]).collect::<Vec<_>>(),
        ["zinc kiln", "harbor tide slate"]
    );
}

#[tokio::test]
async fn repetitions_are_dropped_and_the_budget_is_kept() {
    let fixture = fixture().await;
    fixture.maintainer.write_documents(2, vec![document("copy.md", &["zinc zinc zinc"])]).await.unwrap();
    let hits = hits_of(&fixture, "zinc").await;
    assert_eq!(hits.len(), 4, "the store has both");
    assert_eq!(select_passages(&hits, 1000).len(), 3);
    let two = select_passages(&hits, 20);
    assert_eq!((two.len(), two.iter().map(|passage| passage.tokens).sum::<u32>()), (2, 20));
    let large = hits.iter().find(|hit| hit.parent.document.path == "c.md").unwrap();
    let part = select_passages(std::slice::from_ref(large), 5);
    assert_eq!(part[0].text, "kiln zinc", "its best chunk stands for it");
    assert_eq!(part[0].matches[0].1, 0..9);
}
