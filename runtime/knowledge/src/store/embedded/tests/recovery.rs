use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

use super::{count, maintainer, open, options, query, reader};
use crate::identity::ChunkId;
use crate::store::contract::{WordEmbedder, document};
use crate::store::embedded::EmbeddedStore;
use crate::store::{ChunkHit, ChunkLookup, Filter, KnowledgeStore, Reader, StoreError};

/// Twenty documents with vectors, one replaced, one deleted, all durable; gives the index folder.
async fn filled(folder: &TempDir) -> PathBuf {
    let store = open(folder.path()).await;
    let maintainer = maintainer(&store).await;
    let documents = (0..20).map(|at| document(&format!("{at}.md"), &["zinc kiln", &format!("harbor {at}x")]));
    maintainer.write_documents(1, documents.collect()).await.unwrap();
    let embedder = WordEmbedder::new("words");
    maintainer.embed_pending(&embedder, 100).await.unwrap();
    maintainer.activate().await.unwrap();
    maintainer.flush().await.unwrap();
    maintainer.write_documents(2, vec![document("3.md", &["slate"])]).await.unwrap();
    maintainer.embed_pending(&embedder, 100).await.unwrap();
    maintainer.delete_documents(&[document("4.md", &[]).id]).await.unwrap();
    let index = store.shared.index_directory(&maintainer.revision());
    maintainer.flush().await.unwrap();
    store.close().await;
    index
}

async fn answers(reader: &dyn Reader) -> (Vec<ChunkHit>, Vec<ChunkHit>) {
    let keywords = reader.search_keywords(&query(&["zinc", "harbor", "7x"]), &Filter::default(), 100).await.unwrap();
    let vector = WordEmbedder::vector("zinc kiln harbor");
    (keywords, reader.search_vectors(&vector, &Filter::default(), 100).await.unwrap())
}

async fn check(store: &EmbeddedStore, expected: &(Vec<ChunkHit>, Vec<ChunkHit>), case: &str) {
    let reader = reader(store).await;
    assert_eq!(count(&*reader, "zinc").await, 18, "{case}");
    assert_eq!(count(&*reader, "slate").await, 1, "{case}");
    let got = answers(&*reader).await;
    assert_eq!((got.0.len(), got.1.len()), (expected.0.len(), expected.1.len()), "{case}");
    for (a, b) in got.0.iter().zip(&expected.0).chain(got.1.iter().zip(&expected.1)) {
        assert_eq!(a.chunk, b.chunk, "{case}");
        assert!((a.score - b.score).abs() < 1e-5, "{case}");
    }
}

#[tokio::test]
async fn derived_files_may_vanish_or_break_at_any_time() {
    let folder = TempDir::new().unwrap();
    let index = filled(&folder).await;
    let store = open(folder.path()).await;
    let expected = answers(&*reader(&store).await).await;
    check(&store, &expected, "as it was").await;
    store.close().await;
    drop(store);
    let state = index.join("vectors/state");
    let damage: [(&str, &dyn Fn()); 6] = [
        ("no index", &|| fs::remove_dir_all(&index).unwrap()),
        ("no keywords", &|| fs::remove_dir_all(index.join("keywords")).unwrap()),
        ("keyword files gone", &|| remove_with_extension(&index.join("keywords"), "idx")),
        ("no vector state", &|| fs::remove_file(&state).unwrap()),
        ("vector state cut", &|| fs::write(&state, &fs::read(&state).unwrap()[..40]).unwrap()),
        ("vectors gone", &|| remove_with_extension(&index.join("vectors"), "f32")),
    ];
    for (case, damage) in damage {
        damage();
        let store = open(folder.path()).await;
        check(&store, &expected, case).await;
        maintainer(&store).await.flush().await.unwrap();
        store.close().await;
    }
}

fn remove_with_extension(folder: &std::path::Path, extension: &str) {
    let mut removed = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|found| found == extension) {
            fs::remove_file(path).unwrap();
            removed += 1;
        }
    }
    assert!(removed > 0, "there was a {extension} file");
}

#[tokio::test]
async fn an_index_of_the_past_catches_up_and_one_of_the_future_is_made_anew() {
    let folder = TempDir::new().unwrap();
    let store = open(folder.path()).await;
    let writer = maintainer(&store).await;
    writer.write_documents(1, vec![document("a.md", &["zinc"]), document("b.md", &["kiln"])]).await.unwrap();
    writer.activate().await.unwrap();
    writer.flush().await.unwrap();
    // Neither is flushed: the next start finds indexes that know nothing of it.
    writer.write_documents(2, vec![document("a.md", &["slate"])]).await.unwrap();
    writer.delete_documents(&[document("b.md", &[]).id]).await.unwrap();
    store.close().await;
    drop((writer, store));

    let store = open(folder.path()).await;
    let newest = reader(&store).await;
    for (word, expected) in [("zinc", 0), ("kiln", 0), ("slate", 1)] {
        assert_eq!(count(&*newest, word).await, expected, "{word}");
    }
    let mut write = store.shared.database.begin("test").await.unwrap();
    sqlx::query("UPDATE revision SET generation = 1").execute(&mut *write).await.unwrap();
    store.shared.database.commit("test", write).await.unwrap();
    store.close().await;
    drop((newest, store));
    let store = open(folder.path()).await;
    assert_eq!(count(&*reader(&store).await, "slate").await, 1);
}

#[tokio::test]
async fn a_damaged_file_is_named_with_what_to_do() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("store.sqlite"), "this is no database, however long it may be. ".repeat(100)).unwrap();
    let error = EmbeddedStore::open(folder.path(), options()).await.err().unwrap();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
    let message = error.to_string();
    assert!(message.contains("store.sqlite") && message.contains("move it away"), "{message}");
}

#[tokio::test]
async fn a_file_of_a_newer_version_is_left_alone() {
    let folder = TempDir::new().unwrap();
    let store = open(folder.path()).await;
    let mut write = store.shared.database.begin("test").await.unwrap();
    sqlx::query(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
         VALUES (9999, 'later', TRUE, x'00', 0)",
    )
    .execute(&mut *write)
    .await
    .unwrap();
    store.shared.database.commit("test", write).await.unwrap();
    store.close().await;
    let error = EmbeddedStore::open(folder.path(), options()).await.err().unwrap();
    assert!(matches!(error, StoreError::Newer { .. }), "{error:?}");
}

#[tokio::test]
async fn a_retired_revision_goes_with_its_vectors_once_nobody_reads_it() {
    let folder = TempDir::new().unwrap();
    let store = open(folder.path()).await;
    let first = maintainer(&store).await;
    first.write_documents(1, vec![document("a.md", &["zinc", "kiln"])]).await.unwrap();
    first.embed_pending(&WordEmbedder::new("words"), 10).await.unwrap();
    first.activate().await.unwrap();
    first.flush().await.unwrap();
    let index = store.shared.index_directory(&first.revision());
    assert!(index.exists());
    let contract = groundwork_config::Contract { chunker_version: 99, ..Default::default() };
    let lease = store.lease().await.unwrap();
    let second = store.maintainer(&lease, &contract).await.unwrap();
    second.write_documents(1, vec![document("a.md", &["zinc"])]).await.unwrap();
    second.activate().await.unwrap();
    drop(first);
    store.lease().await.unwrap();
    assert!(!index.exists());
    let left: (i64, i64) = sqlx::query_as("SELECT (SELECT count(*) FROM revision), (SELECT count(*) FROM vector)")
        .fetch_one(store.shared.database.readers())
        .await
        .unwrap();
    assert_eq!(left, (1, 1), "the vector of zinc is still needed");
}

#[tokio::test]
async fn vanished_chunks_are_remembered_over_restarts_until_newer_ones_fill_the_memory() {
    let folder = TempDir::new().unwrap();
    let store = open(folder.path()).await;
    let writer = maintainer(&store).await;
    writer.write_documents(1, ["a.md", "b.md"].map(|path| document(path, &["zinc"])).into()).await.unwrap();
    writer.activate().await.unwrap();
    writer.delete_documents(&[document("a.md", &[]).id]).await.unwrap();
    store.close().await;
    drop((writer, store));
    let store = open(folder.path()).await;
    let lookup = async |path: &str| {
        let chunk = ChunkId::new(document(path, &[]).id, "zinc", 0);
        reader(&store).await.chunk(chunk).await.unwrap()
    };
    assert!(matches!(lookup("a.md").await, ChunkLookup::Gone(_)));
    let mut write = store.shared.database.begin("test").await.unwrap();
    let others = "UPDATE sqlite_sequence SET seq = seq + 100000 - 1 WHERE name = 'vanished'";
    sqlx::query(others).execute(&mut *write).await.unwrap();
    store.shared.database.commit("test", write).await.unwrap();
    maintainer(&store).await.delete_documents(&[document("b.md", &[]).id]).await.unwrap();
    assert!(matches!(lookup("b.md").await, ChunkLookup::Gone(_)));
    assert_eq!(lookup("a.md").await, ChunkLookup::Unknown, "the oldest of 100,001");
}

#[tokio::test]
async fn a_full_disk_is_named_and_writing_resumes_when_there_is_space() {
    let folder = TempDir::new().unwrap();
    let store = open(folder.path()).await;
    let writer = maintainer(&store).await;
    writer.write_documents(1, vec![document("a.md", &["zinc"])]).await.unwrap();
    writer.activate().await.unwrap();
    let limit = async |statement: &'static str| {
        let mut write = store.shared.database.begin("test").await.unwrap();
        sqlx::query(statement).execute(&mut *write).await.unwrap();
        store.shared.database.commit("test", write).await.unwrap();
    };
    limit("PRAGMA max_page_count = 100").await;
    let large = "kiln ".repeat(200_000);
    let error = writer.write_documents(2, vec![document("b.md", &[&large])]).await.unwrap_err();
    assert!(matches!(error, StoreError::DiskFull { .. }), "{error:?}");
    assert_eq!(count(&*reader(&store).await, "zinc").await, 1);
    limit("PRAGMA max_page_count = 1000000").await;
    writer.write_documents(2, vec![document("b.md", &[&large])]).await.unwrap();
    assert_eq!(count(&*reader(&store).await, "kiln").await, 1);
}
