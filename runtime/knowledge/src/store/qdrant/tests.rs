//! The contract on a server of Qdrant's protocol, and what only this store promises: exact sums of two lists, access
//! lists on every point, descriptors that are enough to read by, revisions that go when they are told to.

use groundwork_config::{Contract, Keyword, Retrieval, RetrievalMode, revision_id};
use groundwork_tests::Qdrant;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;
use uuid::Uuid;

use super::{Accuracy, QdrantOptions, QdrantStore, filter};
use crate::analyse::{Analyser, Tokenise};
use crate::embed::Embedder;
use crate::identity::ChunkId;
use crate::search::{Arm, SearchRequest, Searcher};
use crate::store::contract::{self, WordEmbedder, document};
use crate::store::oracle::{Corpus, Random, expected, written};
use crate::store::{
    ChunkHit, ChunkLookup, DocumentWrite, Filter, KeywordQuery, KnowledgeStore, Maintainer, ParentKey, Principal,
    Reader,
};

fn options(url: &str) -> QdrantOptions {
    let mut options = QdrantOptions::new(url, Uuid::new_v4());
    options.timeout = Duration::from_secs(20);
    options.accuracy = Accuracy::Exact;
    options.dimensions = Arc::new(|_| Some(8));
    options.analyser = Arc::new(|_| Arc::new(contract::tokens) as Tokenise);
    options
}

#[tokio::test]
async fn the_contract_holds() {
    let Some(server) = Qdrant::start("the_contract_holds").await else { return };
    let stores = Mutex::new(Vec::new());
    contract::all(async || {
        let folder = TempDir::new().unwrap();
        let store = QdrantStore::open(options(server.url()), folder.path()).await.unwrap();
        stores.lock().unwrap().push((store.clone(), folder));
        Arc::new(store) as Arc<dyn KnowledgeStore>
    })
    .await;
    for (store, _folder) in stores.into_inner().unwrap() {
        store.remove().await.unwrap();
    }
}

/// A store of its own on the server, removed at the end.
struct Own {
    store: QdrantStore,
    folder: TempDir,
}

impl Own {
    async fn open(options: QdrantOptions) -> Self {
        let folder = TempDir::new().unwrap();
        let store = QdrantStore::open(options, folder.path()).await.unwrap();
        Self { store, folder }
    }

    async fn maintainer(&self) -> Arc<dyn Maintainer> {
        let lease = self.store.lease().await.unwrap();
        self.store.maintainer(&lease, &Contract::default()).await.unwrap()
    }

    /// The documents written and active.
    async fn filled(&self, documents: Vec<DocumentWrite>) -> Arc<dyn Maintainer> {
        let maintainer = self.maintainer().await;
        maintainer.write_documents(1, documents).await.unwrap();
        maintainer.activate().await.unwrap();
        maintainer
    }

    async fn reader(&self, subject: &str, groups: &[&str]) -> Arc<dyn Reader> {
        let groups = groups.iter().map(|&group| group.to_owned()).collect();
        self.store.reader(&Principal { subject: subject.into(), groups }).await.unwrap().unwrap()
    }
}

async fn found(reader: &dyn Reader, words: &[&str], limit: usize) -> Vec<ChunkHit> {
    let words = words.iter().map(|&word| (word.to_owned(), 1)).collect();
    let query = KeywordQuery { words, identifiers: Vec::new() };
    reader.search_keywords(&query, &Filter::default(), limit).await.unwrap()
}

#[tokio::test]
async fn the_best_ten_equal_a_plain_bm25_although_no_list_is_read_to_its_end() {
    let Some(server) = Qdrant::start("the_best_ten").await else { return };
    let own = Own::open(options(server.url())).await;
    let mut random = Random(7);
    // So short that the plain BM25, which keeps lengths in one byte, has the exact ones.
    let mut corpus: Corpus = (0..250).map(|_| random.chunks(3..10)).collect();
    let documents = corpus.iter().enumerate().map(|(number, chunks)| written(number, chunks)).collect();
    let maintainer = own.filled(documents).await;
    let reader = own.reader("local", &[]).await;
    let questions: Vec<_> = (0..10).map(|_| random.question()).collect();
    for question in &questions {
        let words: Vec<_> = question.iter().map(String::as_str).collect();
        let (hits, expected) = (found(&*reader, &words, 10).await, expected(&corpus, question));
        assert_eq!(hits.len(), expected.len().min(10), "{words:?}");
        for (hit, score) in hits.iter().zip(&expected) {
            assert!((f64::from(hit.score) - score).abs() < 1e-4, "{words:?}: {} {score}", hit.score);
        }
    }
    corpus.iter_mut().step_by(7).for_each(|old| *old = random.chunks(3..10));
    let changed = corpus.iter().enumerate().step_by(7).map(|(number, chunks)| written(number, chunks)).collect();
    maintainer.write_documents(2, changed).await.unwrap();
    for question in &questions {
        let words: Vec<_> = question.iter().map(String::as_str).collect();
        assert_eq!(found(&*reader, &words, 5000).await.len(), expected(&corpus, question).len(), "{words:?}");
    }
    own.store.remove().await.unwrap();
}

#[tokio::test]
async fn both_arms_in_one_request_are_the_arms_one_by_one() {
    let Some(server) = Qdrant::start("both_arms").await else { return };
    let own = Own::open(options(server.url())).await;
    let texts: Vec<_> = (0..40).map(|at| format!("zinc kiln harbor {}", ["tide", "slate", "ember"][at % 3])).collect();
    let documents = texts.iter().enumerate().map(|(at, text)| document(&format!("d/{at}.md"), &[text.as_str()]));
    let maintainer = own.filled(documents.collect()).await;
    let embedder: Arc<dyn Embedder> = Arc::new(WordEmbedder::new("words"));
    maintainer.embed_pending(&*embedder, 100).await.unwrap();
    let reader = own.reader("local", &[]).await;
    let query = KeywordQuery { words: vec![("slate".into(), 1), ("zinc".into(), 1)], identifiers: Vec::new() };
    for (vector, limit) in
        [(WordEmbedder::vector("slate"), 5), (WordEmbedder::vector("tide zinc"), 100), (vec![1.0; 8], 0)]
    {
        for paths in [vec![], vec!["docs/d/1*".to_owned()]] {
            let filter = Filter { paths, ..Filter::default() };
            let (keywords, vectors) = reader.search_both(&query, &vector, &filter, limit).await.unwrap();
            assert_eq!(keywords, reader.search_keywords(&query, &filter, limit).await.unwrap(), "{filter:?} {limit}");
            assert_eq!(vectors, reader.search_vectors(&vector, &filter, limit).await.unwrap(), "{filter:?} {limit}");
        }
    }
    let searcher = Searcher { reader, analyser: Analyser::new(&Keyword::default()), embedder: Some(embedder) };
    let request = SearchRequest { mode: RetrievalMode::Hybrid, ..SearchRequest::new("slate", &Retrieval::default()) };
    let found = searcher.search(&request).await.unwrap();
    assert_eq!(found.arms.iter().map(|arm| arm.arm).collect::<Vec<_>>(), [Arm::Keyword, Arm::Vector]);
    assert!(found.hits[0].parent.text.contains("slate"), "{:?}", found.hits[0].parent.text);
    own.store.remove().await.unwrap();
}

#[tokio::test]
async fn access_lists_hide_documents_from_others_in_every_call() {
    let Some(server) = Qdrant::start("access_lists_hide").await else { return };
    let own = Own::open(options(server.url())).await;
    let paths = ["all.md", "mine.md", "staff.md", "nobody.md"];
    let documents: Vec<_> = paths.map(|path| document(path, &["zinc"])).into();
    let ids: Vec<_> = documents.iter().map(|document| document.id).collect();
    let maintainer = own.filled(documents).await;
    maintainer.embed_pending(&WordEmbedder::new("words"), 10).await.unwrap();
    let collection = own.store.shared.collection(&own.store.active().unwrap().collection);
    for (id, access) in [(ids[1], vec!["=ann".to_owned()]), (ids[2], vec!["=staff".into()]), (ids[3], vec![])] {
        let fields = std::collections::HashMap::from([("access".to_owned(), access.into())]);
        let points = qdrant_client::qdrant::Filter::must([filter::any_id("document", [id.0])]);
        collection.set("set an access list", points, fields).await.unwrap();
    }
    for (subject, groups, visible) in
        [("eve", &[][..], &[0][..]), ("ann", &[], &[0, 1]), ("ann", &["staff"], &[0, 1, 2]), ("*", &["=ann"], &[0])]
    {
        let reader = own.reader(subject, groups).await;
        let vector = WordEmbedder::vector("zinc");
        assert_eq!(found(&*reader, &["zinc"], 10).await.len(), visible.len(), "{subject}");
        assert_eq!(reader.search_vectors(&vector, &Filter::default(), 10).await.unwrap().len(), visible.len());
        assert_eq!(reader.documents(&Filter::default(), None, 10).await.unwrap().len(), visible.len());
        for (at, &id) in ids.iter().enumerate() {
            let sees = visible.contains(&at);
            let key = ParentKey { document: id, ordinal: 0 };
            assert_eq!(reader.document(id).await.unwrap().is_some(), sees, "{subject} {}", paths[at]);
            assert_eq!(reader.body(id).await.unwrap().is_some(), sees);
            assert_eq!(reader.parents(&[key]).await.unwrap().len(), usize::from(sees));
            let lookup = reader.chunk(ChunkId::new(id, "zinc", 0)).await.unwrap();
            assert_eq!(lookup != ChunkLookup::Unknown, sees);
        }
    }
    own.store.remove().await.unwrap();
}

#[tokio::test]
async fn a_descriptor_is_all_that_another_process_needs_also_after_a_restart() {
    let Some(mut server) = Qdrant::start("a_descriptor").await else { return };
    let options = options(server.url());
    let own = Own::open(options.clone()).await;
    let maintainer = own.filled(vec![document("a.md", &["zinc kiln"]), document("b.md", &["kiln"])]).await;
    maintainer.embed_pending(&WordEmbedder::new("words"), 10).await.unwrap();
    let digest = maintainer.digest().await.unwrap();
    let written = serde_json::to_string(&own.store.active().unwrap()).unwrap();
    own.store.close().await;
    server.restart().await.unwrap();
    let options = QdrantOptions { url: server.url().into(), ..options };
    let descriptor = serde_json::from_str(&written).unwrap();
    let pinned = QdrantStore::pinned(options.clone(), descriptor).unwrap();
    let reader = pinned.reader(&Principal::local()).await.unwrap().unwrap();
    assert_eq!(found(&*reader, &["kiln"], 10).await.len(), 2);
    let counts = reader.counts().await.unwrap();
    assert_eq!((counts.documents, counts.chunks, counts.vectors), (2, 2, 2));
    let error = pinned.lease().await.expect_err("it only reads");
    assert_eq!(error.to_string(), "failed to maintain the knowledge base");
    let again = QdrantStore::open(options, own.folder.path()).await.unwrap();
    assert_eq!(again.active(), pinned.active());
    let lease = again.lease().await.unwrap();
    let maintainer = again.maintainer(&lease, &Contract::default()).await.unwrap();
    assert_eq!(maintainer.digest().await.unwrap(), digest);
    again.remove().await.unwrap();
}

#[tokio::test]
async fn revisions_are_listed_and_go_with_what_the_state_knows_of_them() {
    let Some(server) = Qdrant::start("revisions_are_listed").await else { return };
    let own = Own::open(options(server.url())).await;
    own.filled(vec![document("a.md", &["zinc kiln"]), document("b.md", &["zinc"])]).await;
    let old = own.reader("local", &[]).await;
    let contract = Contract { chunker_version: 99, ..Contract::default() };
    let lease = own.store.lease().await.unwrap();
    let second = own.store.maintainer(&lease, &contract).await.unwrap();
    second.write_documents(2, vec![document("a.md", &["zinc"])]).await.unwrap();
    second.activate().await.unwrap();

    let (first_id, second_id) = (revision_id(&Contract::default()), revision_id(&contract));
    let mut expected = vec![first_id.clone(), second_id.clone()];
    expected.sort();
    assert_eq!(own.store.revisions().await.unwrap(), expected);
    let data_id = own.store.shared.options.data_id;
    let listed = super::collections(&own.store.shared.options).await.unwrap();
    let first = listed.iter().find(|found| found.data_id == data_id && found.revision == first_id).unwrap();
    assert_eq!((first.documents, first.chunks), (2, 2));

    own.store.remove_revisions(&lease, std::slice::from_ref(&first_id)).await.unwrap();
    let query = KeywordQuery { words: vec![("zinc".into(), 1)], identifiers: Vec::new() };
    let error = old.search_keywords(&query, &Filter::default(), 10).await.expect_err("its collection is gone");
    assert_eq!(error.to_string(), "failed to search the keywords");
    assert_eq!(found(&*own.reader("local", &[]).await, &["zinc"], 10).await.len(), 1);
    assert_eq!(own.store.revisions().await.unwrap(), std::slice::from_ref(&second_id));
    own.store.lease().await.unwrap();
    assert!(own.store.remove_revisions(&lease, &[second_id]).await.is_err(), "another lease is newer");

    own.store.remove().await.unwrap();
    assert!(own.store.revisions().await.unwrap().is_empty() && own.store.active().is_none());
    let again = own.filled(vec![document("a.md", &["zinc"])]).await;
    assert_eq!(again.manifest().await.unwrap().len(), 1, "nothing is remembered of what is gone");
    own.store.remove().await.unwrap();
}

#[tokio::test]
async fn a_server_that_is_not_there_is_an_error_that_says_what_failed() {
    let own = Own::open(options("http://127.0.0.1:1")).await;
    let lease = own.store.lease().await.unwrap();
    let refused = own.store.maintainer(&lease, &Contract::default()).await.map(drop).expect_err("nobody listens");
    assert_eq!(refused.to_string(), "failed to provision the collection");
}

#[tokio::test]
async fn a_lost_file_costs_no_embedding_and_leaves_no_document_behind() {
    let Some(server) = Qdrant::start("a_lost_file").await else { return };
    let options = options(server.url());
    let own = Own::open(options.clone()).await;
    let documents = || vec![document("a.md", &["zinc kiln", "tide"]), document("b.md", &["kiln"])];
    let maintainer = own.filled(documents()).await;
    maintainer
        .write_documents(2, vec![document("a.md", &["zinc kiln"]), document("gone.md", &["slate"])])
        .await
        .unwrap();
    let embedder = WordEmbedder::exchangeable("words", 1);
    maintainer.embed_pending(&embedder, 10).await.unwrap();
    assert_eq!(embedder.texts(), 3);
    own.store.close().await;
    let found_again = Own::open(options).await;
    let maintainer = found_again.maintainer().await;
    let manifest = maintainer.manifest().await.unwrap();
    let known: Vec<_> = manifest.iter().map(|entry| (&*entry.path, entry.version, entry.stamp.is_some())).collect();
    assert_eq!(known, [("a.md", 2, false), ("b.md", 1, false), ("gone.md", 1, false)]);
    maintainer.write_documents(3, documents()).await.unwrap();
    assert_eq!(maintainer.delete_documents(&[manifest[2].id]).await.unwrap(), 1);
    maintainer.activate().await.unwrap();
    let progress = maintainer.embed_pending(&embedder, 10).await.unwrap();
    assert_eq!((progress.embedded, progress.remaining, embedder.texts()), (1, 0, 4), "tide alone is new");
    let reader = found_again.reader("local", &[]).await;
    assert_eq!(reader.document(manifest[0].id).await.unwrap().map(|document| document.version), Some(3));
    assert_eq!(found(&*reader, &["kiln"], 10).await.len(), 2);
    assert!(found(&*reader, &["slate"], 10).await.is_empty());
    assert_eq!(reader.search_vectors(&WordEmbedder::vector("kiln"), &Filter::default(), 10).await.unwrap().len(), 3);
    found_again.store.remove().await.unwrap();
}
