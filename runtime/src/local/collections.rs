//! What a person or a Job does with the collections of knowledge bases in a Qdrant server.

use groundwork_config::{Ingestion, KnowledgeBase, Qdrant, Revision, Store};
use groundwork_knowledge::store::qdrant::{FoundCollection, QdrantOptions, QdrantStore, collections};
use groundwork_knowledge::store::{KnowledgeStore, StoreError};
use std::path::Path;
use uuid::Uuid;

use super::lock::Lock;
use super::{ingestion, stores};
use crate::output::Problem;

/// The collections of one knowledge base. No other process opens its data folder meanwhile.
pub(crate) struct OpenCollections {
    knowledge_base: KnowledgeBase,
    url: String,
    store: QdrantStore,
    _lock: Lock,
}

impl OpenCollections {
    /// Opens the knowledge base's store with its state in the data folder. The server is not asked yet.
    pub(crate) async fn open(ingestion: Ingestion, data: &Path, command: &str) -> Result<Self, Problem> {
        let knowledge_base = ingestion.knowledge_base;
        let server = server(&knowledge_base)?;
        let (state, lock) = ingestion::claim(&knowledge_base, data, command).await?;
        let opened = QdrantStore::open(stores::options(&knowledge_base, server).await?, state).await;
        let store = opened.map_err(|error| Problem::new(stores::failed(&knowledge_base, server)).because(error))?;
        let url = server.url.clone();
        Ok(Self { knowledge_base, url, store, _lock: lock })
    }

    /// Makes the collection of the knowledge base's revision where it is missing.
    pub(crate) async fn provision(&self) -> Result<Revision, Problem> {
        let contract = &self.knowledge_base.contract;
        let provisioned = async { self.store.maintainer(&self.store.lease().await?, contract).await };
        provisioned.await.map_err(|error| self.failed(error))?;
        Ok(Revision::new(self.knowledge_base.data_id, contract.clone()))
    }

    /// Ids of the knowledge base's revisions that have a collection, or that the state knows.
    pub(crate) async fn revisions(&self) -> Result<Vec<String>, Problem> {
        self.store.revisions().await.map_err(|error| self.failed(error))
    }

    /// Removes revisions, with what the state knows of them.
    pub(crate) async fn remove(&self, revisions: &[String]) -> Result<(), Problem> {
        let removed = async { self.store.remove_revisions(&self.store.lease().await?, revisions).await };
        removed.await.map_err(|error| self.failed(error))
    }

    /// Closes its file.
    pub(crate) async fn close(&self) {
        self.store.close().await;
    }

    fn failed(&self, error: StoreError) -> Problem {
        let name = &self.knowledge_base.name;
        Problem::new(format!("failed to change the collections of {name} at {}", self.url)).because(error)
    }
}

fn server(knowledge_base: &KnowledgeBase) -> Result<&Qdrant, Problem> {
    match &knowledge_base.store {
        Store::Qdrant(server) => Ok(server),
        Store::Embedded => Err(Problem::new(format!(
            "{} is kept in a file: there are no collections of it, and its revisions go by themselves",
            knowledge_base.name
        ))),
    }
}

/// Collections on a server that no knowledge base of these data ids made.
pub(crate) async fn orphans(
    url: &str,
    api_key_file: Option<&Path>,
    known: &[Uuid],
) -> Result<Vec<FoundCollection>, Problem> {
    let api_key = match api_key_file {
        Some(file) => Some(stores::key(file).await?),
        None => None,
    };
    let options = QdrantOptions { api_key, ..QdrantOptions::new(url, Uuid::nil()) };
    let mut found = collections(&options)
        .await
        .map_err(|error| Problem::new(format!("failed to look at the collections at {url}")).because(error))?;
    found.retain(|collection| !known.contains(&collection.data_id));
    Ok(found)
}
