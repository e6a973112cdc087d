//! The embedded store: one SQLite file is the only truth and the only commit point; a keyword index and a vector matrix
//! are derived from it and may be deleted at any time.
//!
//! Layout of the data folder: `store.sqlite` (with its `-wal` and `-shm`), `index/<revision>/keywords` and
//! `index/<revision>/vectors`. One process at a time holds the folder; the caller sees to that.

mod catalog;
mod derived;
mod digest;
mod keywords;
mod maintainer;
mod matrix;
mod parents;
mod reader;
mod revision;
mod rows;
mod top;
mod vectors;

#[cfg(test)]
mod tests;

use async_trait::async_trait;
use groundwork_config::{Contract, Keyword};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

use super::state::database::{Database, file_error};
use super::state::{documents, revisions};
use super::{KnowledgeStore, Maintainer, Principal, Reader, StoreError, SyncLease};
pub use crate::analyse::Tokenise;
use crate::analyse::tokenise;
use derived::Derived;
use maintainer::EmbeddedMaintainer;
use parents::Parents;
use reader::EmbeddedReader;
use revision::Revision;

/// Settings of an [`EmbeddedStore`].
#[derive(Clone)]
pub struct EmbeddedOptions {
    /// Makes the analyser of a contract. Its tokens are part of the contract (`analyser_version`).
    pub analyser: Arc<dyn Fn(&Keyword) -> Tokenise + Send + Sync>,
}

impl Default for EmbeddedOptions {
    /// The product's analyser.
    fn default() -> Self {
        Self { analyser: Arc::new(tokenise) }
    }
}

/// A knowledge base in one folder. Cheap to clone.
#[derive(Clone)]
pub struct EmbeddedStore {
    shared: Arc<Shared>,
}

struct Shared {
    directory: PathBuf,
    database: Database,
    identity: String,
    options: EmbeddedOptions,
    parents: Parents,
    active: RwLock<Option<Arc<Revision>>>,
    open: tokio::sync::Mutex<HashMap<String, Arc<Revision>>>,
}

impl EmbeddedStore {
    /// Opens or creates the store in `directory`, brings the derived files of the active revision up to date, and
    /// prunes retired revisions.
    ///
    /// # Errors
    /// A damaged file, a file of a newer version, a folder that cannot be written, a full disk.
    pub async fn open(directory: impl AsRef<Path>, options: EmbeddedOptions) -> Result<Self, StoreError> {
        let directory = directory.as_ref().to_owned();
        std::fs::create_dir_all(&directory).map_err(|e| file_error(&directory, "create the data folder", e))?;
        let database = Database::open(directory.join("store.sqlite")).await?;
        let identity = database.identity().await?;
        let shared = Arc::new(Shared {
            directory,
            database,
            identity,
            options,
            parents: Parents::default(),
            active: RwLock::default(),
            open: tokio::sync::Mutex::default(),
        });
        shared.prune().await?;
        if let Some(hash) = revisions::active(&shared.database).await? {
            let revision = shared.revision(&hash).await?;
            shared.set_active(revision);
        }
        Ok(Self { shared })
    }

    /// Closes the file's connections, which empties its log. Handles given out fail afterwards.
    pub async fn close(&self) {
        self.shared.database.close().await;
    }
}

#[async_trait]
impl KnowledgeStore for EmbeddedStore {
    async fn reader(&self, principal: &Principal) -> Result<Option<Arc<dyn Reader>>, StoreError> {
        let active = self.shared.active();
        Ok(active.map(|revision| {
            Arc::new(EmbeddedReader::new(Arc::clone(&self.shared), revision, principal.clone())) as Arc<dyn Reader>
        }))
    }

    async fn lease(&self) -> Result<SyncLease, StoreError> {
        self.shared.prune().await?;
        Ok(SyncLease { token: self.shared.database.take_lease().await? })
    }

    async fn maintainer(&self, lease: &SyncLease, contract: &Contract) -> Result<Arc<dyn Maintainer>, StoreError> {
        let hash = revisions::ensure(&self.shared.database, lease.token, contract).await?;
        let revision = self.shared.revision(&hash).await?;
        Ok(Arc::new(EmbeddedMaintainer::new(Arc::clone(&self.shared), revision, lease.token)))
    }
}

impl Shared {
    fn active(&self) -> Option<Arc<Revision>> {
        self.active.read().expect("no thread panics while it holds the lock").clone()
    }

    fn set_active(&self, revision: Arc<Revision>) {
        *self.active.write().expect("no thread panics while it holds the lock") = Some(revision);
    }

    /// The revision of this hash in memory, opened once.
    async fn revision(&self, hash: &str) -> Result<Arc<Revision>, StoreError> {
        let mut open = self.open.lock().await;
        if let Some(revision) = open.get(hash) {
            return Ok(Arc::clone(revision));
        }
        let (key, contract) = revisions::open(&self.database, hash).await?;
        let tokenise = (self.options.analyser)(&contract.keyword);
        let directory = self.index_directory(hash);
        let derived = Derived::open(&self.database, &self.identity, (key, hash), directory, tokenise).await?;
        let revision = Arc::new(Revision::new(key, hash.to_owned(), contract, derived));
        open.insert(hash.to_owned(), Arc::clone(&revision));
        Ok(revision)
    }

    fn index_directory(&self, hash: &str) -> PathBuf {
        self.directory.join("index").join(&hash[..16])
    }

    /// Removes retired revisions that nobody in this process reads, with everything derived from them.
    async fn prune(&self) -> Result<(), StoreError> {
        let action = "prune old revisions";
        let failed = self.database.failed(action);
        let mut open = self.open.lock().await;
        let retired = revisions::retired(&self.database).await?;
        for hash in retired {
            if open.get(&hash).is_some_and(|revision| Arc::strong_count(revision) > 1) {
                continue;
            }
            open.remove(&hash);
            let mut write = self.database.begin(action).await?;
            documents::delete_revision(&mut write, &hash).await.map_err(&failed)?;
            self.database.commit(action, write).await?;
            let directory = self.index_directory(&hash);
            if let Err(error) = std::fs::remove_dir_all(&directory)
                && error.kind() != std::io::ErrorKind::NotFound
            {
                tracing::warn!(path = %directory.display(), %error, "the index of a pruned revision stays on the disk");
            }
        }
        Ok(())
    }
}
