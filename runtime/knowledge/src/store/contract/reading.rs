use groundwork_config::Contract;

use super::fixture::{document, filled, found, id, maintainer, one_parent, reader, words};
use crate::identity::ChunkId;
use crate::store::{ChunkLookup, Filter, GoneChunk, KeywordQuery, KnowledgeStore, ParentKey, Principal};

/// A first build is invisible until it is activated, however much is written.
pub async fn nothing_is_readable_before_the_first_activation(store: &dyn KnowledgeStore) {
    let before = store.reader(&Principal::local()).await.expect("the store answers");
    assert!(before.is_none(), "an empty store has no reader");
    let maintainer = maintainer(store).await;
    maintainer.write_documents(1, vec![document("a.md", &["zinc kiln"])]).await.expect("documents are written");
    assert!(store.reader(&Principal::local()).await.expect("the store answers").is_none(), "not active yet");
    assert!(!maintainer.is_active().await.expect("the store answers"));
    maintainer.activate().await.expect("the revision is activated");
    assert!(maintainer.is_active().await.expect("the store answers"));
    assert_eq!(found(&*reader(store).await, "zinc").await, ["a.md"]);
}

/// No hit of an older version comes back, for readers made before or after.
pub async fn a_write_replaces_a_document_for_old_and_new_readers(store: &dyn KnowledgeStore) {
    let maintainer = filled(store, vec![document("a.md", &["zinc", "kiln"]), document("b.md", &["zinc"])]).await;
    let old = reader(store).await;
    assert_eq!(found(&*old, "zinc").await, ["a.md", "b.md"]);
    maintainer.write_documents(2, vec![document("a.md", &["harbor"])]).await.expect("documents are written");
    for reader in [old, reader(store).await] {
        assert_eq!(found(&*reader, "zinc").await, ["b.md"]);
        assert!(found(&*reader, "kiln").await.is_empty());
        assert_eq!(found(&*reader, "harbor").await, ["a.md"]);
        let document = reader.document(id("a.md")).await.expect("the store answers").expect("it is there");
        assert_eq!((document.version, document.chunks, document.bytes), (2, 1, 7));
        let counts = reader.counts().await.expect("the store answers");
        assert_eq!((counts.documents, counts.chunks), (2, 2));
    }
}

/// Neither searches nor look-ups show anything of a deleted document.
pub async fn a_deleted_document_leaves_nothing(store: &dyn KnowledgeStore) {
    let maintainer = filled(store, vec![document("a.md", &["zinc"]), document("b.md", &["kiln"])]).await;
    let reader = reader(store).await;
    let deleted = maintainer.delete_documents(&[id("a.md"), id("never.md")]).await.expect("documents are deleted");
    assert_eq!(deleted, 1);
    assert!(found(&*reader, "zinc").await.is_empty());
    assert_eq!(reader.document(id("a.md")).await.expect("the store answers"), None);
    assert_eq!(reader.body(id("a.md")).await.expect("the store answers"), None);
    let key = ParentKey { document: id("a.md"), ordinal: 0 };
    assert!(reader.parents(&[key]).await.expect("the store answers").is_empty());
    let manifest = maintainer.manifest().await.expect("the store answers");
    assert_eq!(manifest.iter().map(|entry| entry.path.as_str()).collect::<Vec<_>>(), ["b.md"]);
    let statistics = reader.term_statistics(&words(&["zinc"])).await.expect("the store answers");
    assert_eq!((statistics.chunks, statistics.frequencies), (1, vec![0]));
}

/// A vanished chunk is told from one that never was, whether its document is still there or not.
pub async fn a_vanished_chunk_is_told_from_one_that_never_was(store: &dyn KnowledgeStore) {
    let maintainer = filled(store, vec![document("a.md", &["zinc kiln", "zinc kiln", "harbor"])]).await;
    let reader = reader(store).await;
    let second = ChunkId::new(id("a.md"), "zinc kiln", 1);
    let lookup = reader.chunk(second).await.expect("the store answers");
    let ChunkLookup::Found(chunk) = lookup else { unreachable!("the second occurrence is there: {lookup:?}") };
    assert_eq!((chunk.parent.key.ordinal, &chunk.parent.text[chunk.range.clone()]), (1, "zinc kiln"));
    maintainer.write_documents(2, vec![document("a.md", &["zinc kiln"])]).await.expect("documents are written");
    let lookup = reader.chunk(second).await.expect("the store answers");
    let version = gone(&lookup).document.as_ref().map(|document| document.version);
    assert_eq!((&*gone(&lookup).path, version), ("a.md", Some(2)), "its document is there");
    let first = reader.chunk(ChunkId::new(id("a.md"), "zinc kiln", 0)).await.expect("the store answers");
    assert!(matches!(first, ChunkLookup::Found(_)), "{first:?}");
    maintainer.delete_documents(&[id("a.md")]).await.expect("documents are deleted");
    for chunk in [second, ChunkId::new(id("a.md"), "zinc kiln", 0)] {
        let lookup = reader.chunk(chunk).await.expect("the store answers");
        assert_eq!((&*gone(&lookup).source, &*gone(&lookup).path), ("docs", "a.md"));
        assert_eq!(gone(&lookup).document, None, "its document vanished too");
    }
    let never = reader.chunk(ChunkId::new(id("never.md"), "x", 0)).await.expect("the store answers");
    assert_eq!(never, ChunkLookup::Unknown);
    maintainer.write_documents(3, vec![document("a.md", &["zinc kiln"])]).await.expect("documents are written");
    let back = reader.chunk(ChunkId::new(id("a.md"), "zinc kiln", 0)).await.expect("the store answers");
    assert!(matches!(back, ChunkLookup::Found(_)), "{back:?}");
}

/// A chunk that a changed contract cuts otherwise is gone with the switch, not before it.
pub async fn chunks_vanish_with_a_switch(store: &dyn KnowledgeStore) {
    filled(store, vec![document("a.md", &["zinc", "kiln"])]).await;
    let contract = Contract { chunker_version: 99, ..Contract::default() };
    let lease = store.lease().await.expect("a lease is given");
    let second = store.maintainer(&lease, &contract).await.expect("a maintainer is given");
    second.write_documents(2, vec![document("a.md", &["zinc", "slate"])]).await.expect("documents are written");
    second.write_documents(3, vec![document("a.md", &["zinc", "tide"])]).await.expect("documents are written");
    let lookup = async |text: &str| {
        let chunk = ChunkId::new(id("a.md"), text, 0);
        reader(store).await.chunk(chunk).await.expect("the store answers")
    };
    assert!(matches!(lookup("kiln").await, ChunkLookup::Found(_)), "before the switch");
    second.activate().await.expect("the revision is activated");
    store.lease().await.expect("a later sync begins");
    assert_eq!(gone(&lookup("kiln").await).path, "a.md");
    assert!(matches!(lookup("zinc").await, ChunkLookup::Found(_)), "both have it");
    assert_eq!(lookup("slate").await, ChunkLookup::Unknown, "nobody ever saw it");
}

fn gone(lookup: &ChunkLookup) -> &GoneChunk {
    match lookup {
        ChunkLookup::Gone(chunk) => chunk,
        other => unreachable!("the chunk was there: {other:?}"),
    }
}

/// Parents come in the order asked, with their chunks; concatenated they are the body.
pub async fn passages_and_bodies_are_verbatim(store: &dyn KnowledgeStore) {
    let texts = ["Zinc – “größe”\n\nmelts", "  at 419 °C", "次の駅"];
    filled(store, vec![document("a.md", &texts), one_parent("b.md", &["harbor", "kiln"])]).await;
    let reader = reader(store).await;
    let keys = [2, 0, 9].map(|ordinal| ParentKey { document: id("a.md"), ordinal });
    let parents = reader.parents(&keys).await.expect("the store answers");
    let texts_read: Vec<_> = parents.iter().map(|parent| parent.text.as_str()).collect();
    assert_eq!(texts_read, ["次の駅\n", "Zinc – “größe”\n\nmelts\n"]);
    assert_eq!((parents[0].heading_path.as_slice(), parents[0].tokens), (["Section 3".to_owned()].as_slice(), 10));
    let body = reader.body(id("a.md")).await.expect("the store answers").expect("it is there");
    assert_eq!(body, texts.map(|text| format!("{text}\n")).concat());
    assert_eq!(&body[parents[0].offset..], parents[0].text);
    let key = ParentKey { document: id("b.md"), ordinal: 0 };
    let parents = reader.parents(&[key]).await.expect("the store answers");
    let chunk = |at: usize| (&parents[0].text[parents[0].chunks[at].range.clone()], &*parents[0].chunks[at].context);
    assert_eq!([chunk(0), chunk(1)], [("harbor", "b.md"), ("kiln", "b.md")]);
}

/// Pages continue after a document, even one that is gone.
pub async fn documents_come_in_pages(store: &dyn KnowledgeStore) {
    filled(store, ["c.md", "a.md", "d/b.md", "b.md"].map(|path| document(path, &["zinc"])).into()).await;
    let reader = reader(store).await;
    let page = async |after: Option<&str>| {
        let after = after.map(|path| ("docs".to_owned(), path.to_owned()));
        let page = reader.documents(&Filter::default(), after, 2).await.expect("the store answers");
        page.into_iter().map(|document| document.path).collect::<Vec<_>>()
    };
    assert_eq!(page(None).await, ["a.md", "b.md"]);
    assert_eq!(page(Some("b.md")).await, ["c.md", "d/b.md"]);
    assert_eq!(page(Some("bzzz")).await, ["c.md", "d/b.md"]);
    assert!(page(Some("d/b.md")).await.is_empty());
    let filter = Filter { paths: vec!["docs/*.md".into()], ..Filter::default() };
    let top = reader.documents(&filter, None, 9).await.expect("the store answers");
    assert_eq!(top.iter().map(|document| document.path.as_str()).collect::<Vec<_>>(), ["a.md", "b.md", "c.md"]);
}

/// Statistics count chunks; similar terms are those at most two edits away.
pub async fn terms_have_statistics_and_neighbours(store: &dyn KnowledgeStore) {
    filled(store, vec![document("a.md", &["zinc zinc kiln", "zinc harbor", "harbors"])]).await;
    let reader = reader(store).await;
    let query = KeywordQuery { identifiers: vec![("nothing".into(), 1)], ..words(&["zinc", "kiln", "absent"]) };
    let statistics = reader.term_statistics(&query).await.expect("the store answers");
    assert_eq!((statistics.chunks, statistics.frequencies), (3, vec![2, 1, 0, 0]));
    assert_eq!(reader.similar_terms("zink", 5).await.expect("the store answers"), ["zinc"]);
    assert!(reader.similar_terms("completely", 5).await.expect("the store answers").is_empty());
}
