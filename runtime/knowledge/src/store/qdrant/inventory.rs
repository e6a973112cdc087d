//! Which collections a server has, and removing them. Nothing asks here who reads them: the caller knows.

use groundwork_config::{collection_name, parse_collection_name};
use qdrant_client::Qdrant;
use qdrant_client::qdrant::Filter;
use std::collections::BTreeSet;
use uuid::Uuid;

use super::collection::Collection;
use super::payload::Kind;
use super::{QdrantOptions, QdrantStore, client, filter};
use crate::store::state::database::engine;
use crate::store::state::{documents, revisions};
use crate::store::{KnowledgeStore, StoreError, SyncLease};

const LIST: &str = "list the collections";

/// A collection that a knowledge base made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundCollection {
    /// Its name.
    pub collection: String,
    /// The data id of the knowledge base.
    pub data_id: Uuid,
    /// The id of the revision.
    pub revision: String,
    /// Documents in it.
    pub documents: u64,
    /// Their chunks.
    pub chunks: u64,
}

/// Every collection on the server that a knowledge base made, whichever; the data id of `options` is not looked at.
///
/// # Errors
/// An address that is none, a server that cannot be reached.
pub async fn collections(options: &QdrantOptions) -> Result<Vec<FoundCollection>, StoreError> {
    let client = client(options)?;
    let mut found = Vec::new();
    for (name, data_id, revision) in named(&client).await? {
        let collection = Collection::new(client.clone(), name.clone());
        let count = |kind| collection.count(LIST, Filter::must([filter::kind(kind)]));
        let (documents, chunks) = futures::try_join!(count(Kind::Document), count(Kind::Chunk))?;
        found.push(FoundCollection { collection: name, data_id, revision, documents, chunks });
    }
    Ok(found)
}

/// Name, data id and revision of each, by name.
async fn named(client: &Qdrant) -> Result<Vec<(String, Uuid, String)>, StoreError> {
    let listed = client.list_collections().await.map_err(|error| engine(LIST, error))?;
    let mut named: Vec<_> = listed
        .collections
        .into_iter()
        .filter_map(|collection| {
            let (data_id, revision) = parse_collection_name(&collection.name)?;
            Some((collection.name.clone(), data_id, revision.to_owned()))
        })
        .collect();
    named.sort();
    Ok(named)
}

impl QdrantStore {
    /// Ids of the knowledge base's revisions that the server has a collection of, or that the state knows.
    ///
    /// # Errors
    /// The server cannot be reached, the file cannot be read.
    pub async fn revisions(&self) -> Result<Vec<String>, StoreError> {
        let listed = named(&self.shared.client).await?.into_iter();
        let own = listed.filter(|(_, data_id, _)| *data_id == self.shared.options.data_id);
        let mut ids: BTreeSet<String> = own.map(|(.., revision)| revision).collect();
        for hash in revisions::all(self.shared.state()?).await? {
            let name = self.shared.collection_name(&hash);
            ids.extend(parse_collection_name(&name).map(|(_, revision)| revision.to_owned()));
        }
        Ok(ids.into_iter().collect())
    }

    /// Removes the collections of these revisions, and what the state knows of them.
    ///
    /// # Errors
    /// The lease is not the newest, the server cannot be reached, the file cannot be written.
    pub async fn remove_revisions(&self, lease: &SyncLease, ids: &[String]) -> Result<(), StoreError> {
        let action = "remove revisions";
        let database = self.shared.state()?;
        let _writing = self.shared.writing.lock().await;
        let known = revisions::all(database).await?;
        for id in ids {
            let name = collection_name(self.shared.options.data_id, id);
            let write = database.begin_leased(action, lease.token).await?;
            database.commit(action, write).await?;
            self.shared.clear_active(&name);
            self.shared.collection(&name).remove().await?;
            let mut write = database.begin_leased(action, lease.token).await?;
            for hash in known.iter().filter(|hash| self.shared.collection_name(hash) == name) {
                documents::forget_revision(&mut write, hash).await.map_err(database.failed(action))?;
            }
            database.commit(action, write).await?;
        }
        Ok(())
    }

    /// Removes every collection of the knowledge base, and what the state knows of them.
    ///
    /// # Errors
    /// The server cannot be reached, the file cannot be written.
    pub async fn remove(&self) -> Result<(), StoreError> {
        let lease = self.lease().await?;
        self.remove_revisions(&lease, &self.revisions().await?).await
    }
}
