use groundwork_config::{Chunking, Contract};
use std::time::Duration;

use super::fixture::{WordEmbedder, document, filled, found, id, maintainer, reader, stamp};
use crate::embed::{EmbedError, Embedder};
use crate::identity::TextHash;
use crate::store::{DocumentFailure, Filter, KnowledgeStore, Maintainer, StoreError, SyncLease};

/// A text embedded once is never embedded again, within a document, between documents and after an edit.
pub async fn vectors_are_reused_by_text(store: &dyn KnowledgeStore) {
    let maintainer =
        filled(store, vec![document("a.md", &["zinc", "kiln"]), document("b.md", &["kiln", "tide"])]).await;
    let embedder = WordEmbedder::new("words");
    let mut batches = 0;
    while maintainer.embed_pending(&embedder, 2).await.expect("chunks are embedded").remaining > 0 {
        batches += 1;
        assert!(batches < 4, "each batch gets on");
    }
    assert_eq!(embedder.texts(), 3, "kiln is embedded once");
    maintainer.write_documents(2, vec![document("a.md", &["zinc", "slate"])]).await.expect("documents are written");
    let progress = maintainer.embed_pending(&embedder, 10).await.expect("chunks are embedded");
    assert_eq!((progress.embedded, progress.remaining, embedder.texts()), (1, 0, 4), "only slate is new");
    let counts = maintainer.counts().await.expect("the store answers");
    assert_eq!((counts.chunks, counts.vectors, counts.without_vector), (4, 4, 0));
    let again = maintainer.embed_pending(&embedder, 10).await.expect("nothing is pending");
    assert_eq!((again.embedded, again.reused, again.remaining), (0, 0, 0));
}

/// What another model behind the same name embeds is not mixed with what is stored, whichever revision asks; the same
/// model goes on.
pub async fn another_model_behind_a_name_is_refused(store: &dyn KnowledgeStore) {
    let first = filled(store, vec![document("a.md", &["zinc"])]).await;
    let recorded = WordEmbedder::exchangeable("remote", 1);
    assert_eq!(reader(store).await.probes().await.expect("the store answers"), None, "no vector, no probes");
    first.embed_pending(&recorded, 10).await.expect("chunks are embedded");
    let probes = recorded.probe(Duration::ZERO).await.expect("a probe is made");
    assert_eq!(reader(store).await.probes().await.expect("the store answers"), probes);
    first.write_documents(2, vec![document("b.md", &["kiln"])]).await.expect("documents are written");
    let other = WordEmbedder::exchangeable("remote", 2);
    let refused = async |maintainer: &dyn Maintainer| {
        let error = maintainer.embed_pending(&other, 10).await.expect_err("another model is refused");
        assert!(matches!(error, StoreError::Embed(EmbedError::ModelChanged { .. })), "{error:?}");
    };
    refused(&*first).await;
    let counts = first.counts().await.expect("the store answers");
    assert_eq!((counts.chunks, counts.vectors), (2, 1), "nothing was written");
    assert_eq!(reader(store).await.probes().await.expect("the store answers"), probes);
    assert_eq!(found(&*reader(store).await, "kiln").await, ["b.md"], "keywords go on");
    let contract = Contract { chunker_version: 99, ..Contract::default() };
    let lease = store.lease().await.expect("a lease is given");
    let second = store.maintainer(&lease, &contract).await.expect("a maintainer is given");
    second.write_documents(3, vec![document("a.md", &["zinc", "tide"])]).await.expect("documents are written");
    refused(&*second).await;
    let progress = second.embed_pending(&recorded, 10).await.expect("the model is back");
    assert_eq!((progress.embedded, progress.reused, progress.remaining), (1, 1, 0));
}

/// Every call may be made again, as after a crash between its end and the caller's note of it.
pub async fn repeating_a_call_changes_nothing(store: &dyn KnowledgeStore) {
    let maintainer = filled(store, vec![document("a.md", &["zinc"]), document("b.md", &["kiln"])]).await;
    let failure = failure("c.md");
    for round in 0..2 {
        maintainer.write_documents(2, vec![document("a.md", &["harbor"])]).await.expect("documents are written");
        maintainer.record_failures(2, vec![failure.clone()]).await.expect("failures are recorded");
        maintainer.delete_documents(&[id("b.md")]).await.expect("documents are deleted");
        maintainer.flush().await.expect("indexes are flushed");
        maintainer.activate().await.expect("the revision is activated");
        let version = reader(store).await.document(id("a.md")).await.expect("the store answers");
        assert_eq!(version.map(|document| document.version), Some(2), "round {round}");
    }
    let digest = maintainer.digest().await.expect("a digest is made");
    maintainer.write_documents(3, vec![document("a.md", &["harbor"])]).await.expect("documents are written");
    assert_eq!(maintainer.digest().await.expect("a digest is made"), digest);
    maintainer.write_documents(3, vec![document("a.md", &["tide"])]).await.expect("documents are written");
    assert_ne!(maintainer.digest().await.expect("a digest is made"), digest);
}

/// Whoever took a lease before writes nothing any more.
pub async fn an_old_lease_is_refused(store: &dyn KnowledgeStore) {
    let old = filled(store, vec![document("a.md", &["zinc"])]).await;
    let lease = store.lease().await.expect("a lease is given");
    let embedder = WordEmbedder::new("words");
    let refused = [
        old.write_documents(2, vec![document("a.md", &["tide"])]).await.err(),
        old.touch_documents(2, vec![(id("a.md"), stamp(2))]).await.err(),
        old.record_failures(2, vec![failure("a.md")]).await.err(),
        old.delete_documents(&[id("a.md")]).await.err(),
        old.embed_pending(&embedder, 1).await.err(),
        old.record_report(serde_json::json!({})).await.err(),
        old.activate().await.err(),
        store.maintainer(&SyncLease { token: lease.token - 1 }, &Contract::default()).await.err(),
    ];
    for (call, error) in refused.iter().enumerate() {
        assert!(matches!(error, Some(StoreError::LeaseLost { .. })), "call {call}: {error:?}");
    }
    assert_eq!(found(&*reader(store).await, "zinc").await, ["a.md"]);
    let new = store.maintainer(&lease, &Contract::default()).await.expect("the newest lease is taken");
    new.delete_documents(&[id("a.md")]).await.expect("the newest lease writes");
}

/// A document that cannot be loaded any more stays readable, marked stale, until it loads again.
pub async fn a_failure_keeps_the_last_good_version(store: &dyn KnowledgeStore) {
    let maintainer = filled(store, vec![document("a.md", &["zinc"])]).await;
    let failures = vec![failure("a.md"), failure("new.md")];
    maintainer.record_failures(2, failures).await.expect("failures are recorded");
    let reader = reader(store).await;
    let stale = async || reader.document(id("a.md")).await.expect("the store answers").map(|document| document.stale);
    assert_eq!(stale().await, Some(true));
    assert_eq!(found(&*reader, "zinc").await, ["a.md"]);
    assert_eq!(reader.document(id("new.md")).await.expect("the store answers"), None);
    let counts = reader.counts().await.expect("the store answers");
    assert_eq!((counts.documents, counts.failed), (1, 2));
    let manifest = maintainer.manifest().await.expect("the store answers");
    let known: Vec<_> = manifest.iter().map(|entry| (&*entry.path, entry.version, entry.failure.as_deref())).collect();
    assert_eq!(known, [("a.md", 1, Some("it is broken")), ("new.md", 0, Some("it is broken"))]);
    maintainer.write_documents(3, vec![document("a.md", &["zinc"])]).await.expect("documents are written");
    assert_eq!(stale().await, Some(false));
    assert_eq!(reader.counts().await.expect("the store answers").failed, 1);
}

/// Stamps are for the next sync's comparison only.
pub async fn stamps_change_nothing_else(store: &dyn KnowledgeStore) {
    let maintainer = filled(store, vec![document("a.md", &["zinc"]), document("b.md", &["zinc"])]).await;
    let digest = maintainer.digest().await.expect("a digest is made");
    maintainer.touch_documents(7, vec![(id("b.md"), stamp(9))]).await.expect("stamps are recorded");
    assert_eq!(maintainer.digest().await.expect("a digest is made"), digest);
    let manifest = maintainer.manifest().await.expect("the store answers");
    let stamps: Vec<_> = manifest.iter().map(|entry| (entry.stamp.clone(), entry.synced_at_ns)).collect();
    assert_eq!(stamps, [(Some(stamp(1)), 1), (Some(stamp(9)), 7)]);
}

/// Readers stay on the old revision until the switch; texts that both have are not embedded twice.
pub async fn a_changed_contract_is_built_beside_and_switched(store: &dyn KnowledgeStore) {
    let first = filled(store, vec![document("a.md", &["zinc"]), document("b.md", &["kiln"])]).await;
    let embedder = WordEmbedder::new("words");
    first.embed_pending(&embedder, 10).await.expect("chunks are embedded");
    let old = reader(store).await;
    let chunking = Chunking { child_tokens: 50, ..Chunking::default() };
    let contract = Contract { chunking, ..Contract::default() };
    let lease = store.lease().await.expect("a lease is given");
    let second = store.maintainer(&lease, &contract).await.expect("a maintainer is given");
    assert!(!second.is_active().await.expect("the store answers"));
    assert_ne!(second.revision(), first.revision());
    second.write_documents(2, vec![document("a.md", &["zinc", "tide"])]).await.expect("documents are written");
    let progress = second.embed_pending(&embedder, 10).await.expect("chunks are embedded");
    assert_eq!((progress.embedded, progress.reused, embedder.texts()), (1, 1, 3));
    assert_eq!(found(&*reader(store).await, "kiln").await, ["b.md"], "still the old one");
    second.activate().await.expect("the revision is activated");
    let new = reader(store).await;
    assert_eq!((new.revision(), new.contract().chunking.child_tokens), (second.revision(), 50));
    assert!(found(&*new, "kiln").await.is_empty());
    assert_eq!(found(&*new, "tide").await, ["a.md"]);
    assert_eq!(found(&*old, "kiln").await, ["b.md"], "a reader made before keeps its revision");
    let hits = old.search_vectors(&WordEmbedder::vector("kiln"), &Filter::default(), 9).await.expect("the search runs");
    assert_eq!(hits.len(), 2);
    store.lease().await.expect("a later sync begins");
    assert_eq!(found(&*old, "kiln").await, ["b.md"], "also while a later sync begins");
    let back = maintainer(store).await;
    assert_eq!((back.revision(), back.is_active().await.expect("the store answers")), (first.revision(), false));
}

fn failure(path: &str) -> DocumentFailure {
    DocumentFailure {
        id: id(path),
        source: "docs".into(),
        path: path.into(),
        stamp: Some(stamp(5)),
        content: TextHash::of("other bytes"),
        reason: "it is broken".into(),
    }
}
