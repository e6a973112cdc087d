//! A knowledge base in a Qdrant server: one collection a revision, for text, vectors and keywords.
//!
//! A collection holds points of five kinds, told apart by the payload field `kind`: **chunk** (dense vector, keyword
//! weights, text), **parent** (keyword weights, text, the places of its chunks), **document** (what readers show of it),
//! **gone** (where a vanished chunk was) and one **state** (counts, embedder, probes). A reader needs nothing but the
//! server and a [`Revision`]. What a sync has to know besides (leases, manifest, which chunks wait for a
//! vector) is in a SQLite file that the maintaining process alone opens.
//!
//! Every call has a timeout. All of them are idempotent: ids are derived from what they name, and deletions are by
//! filter. The client retries one whose connection broke; nothing above it does.

mod collection;
mod filter;
mod hits;
mod inventory;
mod maintainer;
mod payload;
mod points;
mod progress;
mod reader;
mod recovery;
mod terms;
mod vectors;
mod writing;

#[cfg(test)]
mod tests;

use async_trait::async_trait;
use groundwork_config::{Contract, Embedding, Keyword, Revision, collection_name};
use qdrant_client::Qdrant;
use std::path::Path;
use std::sync::{Arc, RwLock};
use std::time::Duration;
use uuid::Uuid;

use super::state::database::{Database, engine, file_error};
use super::state::revisions;
use super::{KnowledgeStore, Maintainer, Principal, Reader, StoreError, SyncLease};
use crate::analyse::{Tokenise, tokenise};
use collection::Collection;
use maintainer::QdrantMaintainer;
use reader::QdrantReader;

pub use inventory::{FoundCollection, collections};

/// Length of the vectors of the encoder inside the binary.
const ENCODER_DIMENSIONS: u32 = 384;

/// How vectors are compared with a question's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accuracy {
    /// With every one that passes the filter.
    Exact,
    /// By the graph, with a beam of this width: the larger, the nearer to exact.
    Approximate {
        /// `hnsw_ef`.
        beam: u32,
    },
}

/// The graph of the dense vectors: always written out, so that a server's defaults decide nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Edges a node.
    pub m: u32,
    /// Neighbours looked at while it is built.
    pub ef_construct: u32,
}

/// The length of a contract's vectors.
pub type Dimensions = Arc<dyn Fn(&Embedding) -> Option<u32> + Send + Sync>;

/// How a store reaches its server and lays out its collections.
#[derive(Clone)]
pub struct QdrantOptions {
    /// Address of the gRPC service, `http://host:6334` or `https://…`.
    pub url: String,
    /// Key sent with each call.
    pub api_key: Option<String>,
    /// Names the collections: the knowledge base's data id.
    pub data_id: Uuid,
    /// Longest a call may take.
    pub timeout: Duration,
    /// How vectors are compared.
    pub accuracy: Accuracy,
    /// The graph of new collections.
    pub graph: Graph,
    /// Shards of new collections. Keyword statistics are each shard's own.
    pub shards: u32,
    /// Copies of each shard in new collections.
    pub replicas: u32,
    /// Makes the analyser of a contract. Its tokens are part of the contract (`analyser_version`).
    pub analyser: Arc<dyn Fn(&Keyword) -> Tokenise + Send + Sync>,
    /// Length of a contract's vectors; `None` where it has none.
    pub dimensions: Dimensions,
}

impl QdrantOptions {
    /// Options for a knowledge base on the server at `url`.
    pub fn new(url: impl Into<String>, data_id: Uuid) -> Self {
        Self {
            url: url.into(),
            api_key: None,
            data_id,
            timeout: Duration::from_secs(30),
            accuracy: Accuracy::Approximate { beam: 128 },
            graph: Graph { m: 16, ef_construct: 128 },
            shards: 1,
            replicas: 1,
            analyser: Arc::new(tokenise),
            dimensions: Arc::new(dimensions),
        }
    }
}

fn dimensions(embedding: &Embedding) -> Option<u32> {
    match embedding {
        Embedding::None => None,
        Embedding::Encoder => Some(ENCODER_DIMENSIONS),
        Embedding::Hashing { dimensions } | Embedding::Endpoint { dimensions, .. } => Some(*dimensions),
    }
}

/// Average lengths in words that the keyword weights of a revision are made with, frozen when it was first complete.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Averages {
    /// Of a chunk with its context.
    chunk: f32,
    /// Of a parent with its headings.
    parent: f32,
}

/// A knowledge base in a Qdrant server. Cheap to clone.
#[derive(Clone)]
pub struct QdrantStore {
    shared: Arc<Shared>,
}

struct Shared {
    client: Qdrant,
    options: QdrantOptions,
    /// What syncs know; none in a process that only reads.
    state: Option<Database>,
    active: RwLock<Option<Arc<Revision>>>,
    /// One write at a time: what is read before it must hold until its end.
    writing: tokio::sync::Mutex<()>,
}

impl QdrantStore {
    /// Opens the store for maintaining and reading, with the state of its syncs in `directory`. One process at a time
    /// does so; the caller sees to that.
    ///
    /// # Errors
    /// An address that is none; a damaged file, a file of a newer version, a folder that cannot be written. The server is
    /// not asked yet.
    pub async fn open(options: QdrantOptions, directory: impl AsRef<Path>) -> Result<Self, StoreError> {
        let directory = directory.as_ref();
        std::fs::create_dir_all(directory).map_err(|e| file_error(directory, "create the state folder", e))?;
        let database = Database::open(directory.join("state.sqlite")).await?;
        progress::prepare(&database).await?;
        let store = Self::new(options, Some(database))?;
        if let Some(hash) = revisions::active(store.shared.state()?).await? {
            let descriptor = store.shared.descriptor(&hash).await?;
            store.shared.set_active(descriptor);
        }
        Ok(store)
    }

    /// Opens one revision for reading.
    ///
    /// # Errors
    /// An address that is none. The server is not asked yet.
    pub fn pinned(options: QdrantOptions, descriptor: Revision) -> Result<Self, StoreError> {
        let store = Self::new(options, None)?;
        store.shared.set_active(descriptor);
        Ok(store)
    }

    fn new(options: QdrantOptions, state: Option<Database>) -> Result<Self, StoreError> {
        let client = client(&options)?;
        let (active, writing) = (RwLock::default(), tokio::sync::Mutex::default());
        Ok(Self { shared: Arc::new(Shared { client, options, state, active, writing }) })
    }

    /// What a process that only reads needs to open the active revision; `None` before the first.
    pub fn active(&self) -> Option<Revision> {
        self.shared.active().map(|descriptor| (*descriptor).clone())
    }

    /// Closes the file of the syncs. Maintaining handles given out fail afterwards.
    pub async fn close(&self) {
        if let Some(database) = &self.shared.state {
            database.close().await;
        }
    }
}

fn client(options: &QdrantOptions) -> Result<Qdrant, StoreError> {
    let mut builder = Qdrant::from_url(&options.url)
        .timeout(options.timeout)
        .connect_timeout(options.timeout.min(Duration::from_secs(5)))
        .skip_compatibility_check();
    builder.api_key.clone_from(&options.api_key);
    builder.build().map_err(|error| engine("set up the client of Qdrant", error))
}

#[async_trait]
impl KnowledgeStore for QdrantStore {
    async fn reader(&self, principal: &Principal) -> Result<Option<Arc<dyn Reader>>, StoreError> {
        let active = self.shared.active();
        Ok(active.map(|descriptor| {
            Arc::new(QdrantReader::new(Arc::clone(&self.shared), descriptor, principal.clone())) as Arc<dyn Reader>
        }))
    }

    async fn lease(&self) -> Result<SyncLease, StoreError> {
        Ok(SyncLease { token: self.shared.state()?.take_lease().await? })
    }

    async fn maintainer(&self, lease: &SyncLease, contract: &Contract) -> Result<Arc<dyn Maintainer>, StoreError> {
        let hash = revisions::ensure(self.shared.state()?, lease.token, contract).await?;
        let maintainer = QdrantMaintainer::new(Arc::clone(&self.shared), &hash, lease.token).await?;
        maintainer.provision().await?;
        Ok(Arc::new(maintainer))
    }
}

impl Shared {
    fn active(&self) -> Option<Arc<Revision>> {
        self.active.read().expect("no thread panics while it holds the lock").clone()
    }

    /// Readers made from now on get nothing, if they would have got this collection.
    fn clear_active(&self, collection: &str) {
        let mut active = self.active.write().expect("no thread panics while it holds the lock");
        *active = active.take().filter(|descriptor| descriptor.collection != collection);
    }

    fn set_active(&self, descriptor: Revision) {
        *self.active.write().expect("no thread panics while it holds the lock") = Some(Arc::new(descriptor));
    }

    fn state(&self) -> Result<&Database, StoreError> {
        self.state.as_ref().ok_or_else(|| engine("maintain the knowledge base", "this process only reads"))
    }

    async fn descriptor(&self, hash: &str) -> Result<Revision, StoreError> {
        let (_, contract) = revisions::open(self.state()?, hash).await?;
        Ok(Revision::new(self.options.data_id, contract))
    }

    fn collection_name(&self, hash: &str) -> String {
        collection_name(self.options.data_id, hash)
    }

    fn collection(&self, name: &str) -> Collection {
        Collection::new(self.client.clone(), name.to_owned())
    }
}
