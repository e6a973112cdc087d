//! The contract on the embedded store, and what only it promises: derived files that may vanish, a damaged file that is
//! named, access lists, scores that do not depend on history.

mod model;
mod oracle;
mod recovery;

use groundwork_config::{Contract, Keyword};
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

use super::{EmbeddedOptions, EmbeddedStore, Tokenise};
use crate::analyse::TokenKind;
use crate::identity::ChunkId;
use crate::store::contract::{self, document, tokens};
use crate::store::{ChunkLookup, Filter, KeywordQuery, KnowledgeStore, Maintainer, Principal, Reader};

fn options() -> EmbeddedOptions {
    let analyser = |_: &Keyword| Arc::new(tokens) as Tokenise;
    EmbeddedOptions { analyser: Arc::new(analyser) }
}

async fn open(directory: &Path) -> EmbeddedStore {
    EmbeddedStore::open(directory, options()).await.unwrap()
}

async fn maintainer(store: &EmbeddedStore) -> Arc<dyn Maintainer> {
    let lease = store.lease().await.unwrap();
    store.maintainer(&lease, &Contract::default()).await.unwrap()
}

async fn reader(store: &EmbeddedStore) -> Arc<dyn Reader> {
    store.reader(&Principal::local()).await.unwrap().unwrap()
}

fn query(words: &[&str]) -> KeywordQuery {
    let mut query = KeywordQuery::default();
    for token in tokens(&words.join(" ")) {
        let list = if token.kind == TokenKind::Word { &mut query.words } else { &mut query.identifiers };
        match list.iter_mut().find(|(term, _)| *term == token.term) {
            Some((_, count)) => *count += 1,
            None => list.push((token.term, 1)),
        }
    }
    query
}

async fn count(reader: &dyn Reader, word: &str) -> usize {
    reader.search_keywords(&query(&[word]), &Filter::default(), 1000).await.unwrap().len()
}

#[tokio::test]
async fn the_contract_holds() {
    let folders = std::sync::Mutex::new(Vec::new());
    contract::all(async || {
        let folder = TempDir::new().unwrap();
        let store = open(folder.path()).await;
        folders.lock().unwrap().push(folder);
        Arc::new(store) as Arc<dyn KnowledgeStore>
    })
    .await;
}

#[tokio::test]
async fn access_lists_hide_documents_from_others() {
    let folder = TempDir::new().unwrap();
    let store = open(folder.path()).await;
    let maintainer = maintainer(&store).await;
    let documents = ["all.md", "mine.md", "staff.md", "nobody.md"].map(|path| document(path, &["zinc"]));
    maintainer.write_documents(1, documents.into()).await.unwrap();
    for (path, access) in [("mine.md", r#"["ann"]"#), ("staff.md", r#"["staff"]"#), ("nobody.md", "[]")] {
        let mut write = store.shared.database.begin("test").await.unwrap();
        sqlx::query("UPDATE document SET access = ? WHERE path = ?")
            .bind(access)
            .bind(path)
            .execute(&mut *write)
            .await
            .unwrap();
        store.shared.database.commit("test", write).await.unwrap();
    }
    maintainer.activate().await.unwrap();
    let seen = async |subject: &str, groups: &[&str]| {
        let groups = groups.iter().map(|&group| group.to_owned()).collect();
        let principal = Principal { subject: subject.into(), groups };
        let reader = store.reader(&principal).await.unwrap().unwrap();
        let listed = reader.documents(&Filter::default(), None, 10).await.unwrap();
        assert_eq!(listed.len(), count(&*reader, "zinc").await, "search and list agree");
        listed.into_iter().map(|document| document.path).collect::<Vec<_>>()
    };
    assert_eq!(seen("eve", &[]).await, ["all.md"]);
    assert_eq!(seen("ann", &[]).await, ["all.md", "mine.md"]);
    assert_eq!(seen("ann", &["staff"]).await, ["all.md", "mine.md", "staff.md"]);
    let mine = document("mine.md", &["zinc"]);
    maintainer.delete_documents(&[mine.id]).await.unwrap();
    for (subject, knows) in [("ann", true), ("eve", false)] {
        let principal = Principal { subject: subject.into(), groups: Vec::new() };
        let reader = store.reader(&principal).await.unwrap().unwrap();
        let lookup = reader.chunk(ChunkId::new(mine.id, "zinc", 0)).await.unwrap();
        assert_eq!(lookup != ChunkLookup::Unknown, knows, "{subject}: {lookup:?}");
    }
}
