use groundwork_tests::Qdrant;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;
use uuid::Uuid;

use super::{Accuracy, QdrantOptions, QdrantStore};
use crate::analyse::Tokenise;
use crate::store::{KnowledgeStore, contract};

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
