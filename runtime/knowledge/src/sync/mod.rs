//! Bringing a store up to date with its sources.
//!
//! [`Synchroniser::sync`] lists the sources, loads and cuts what changed, writes it in batches (one transaction each),
//! records what failed and removes what is gone. Every step may be repeated: a sync that was interrupted anywhere is
//! carried on by the next one. It ends when keywords are in. [`Synchroniser::embed_all`] gives the chunks their
//! vectors afterwards, while the store can already be searched.
//!
//! Which revision readers get changes here and only here: the first one becomes active when its keywords are in, one
//! that is built beside an active revision when its vectors are complete.

mod batch;
mod embed;
mod observe;
mod plan;
mod prepare;
mod prune;
mod report;
mod run;
mod switch;
mod watch;

#[cfg(test)]
mod tests;

use groundwork_config::KnowledgeBase;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio_util::sync::CancellationToken;

use crate::chunk::Chunker;
use crate::identity::DocumentId;
use crate::load::Loader;
use crate::store::{FileStamp, KnowledgeStore, Maintainer, StoreError};

pub use embed::{EmbedOptions, EmbedReport, EmbedState};
pub use observe::{Phase, Progress, SyncObserver};
pub use report::{Changes, FailedDocument, HeldDeletes, Serving, SourceReport, SyncReport};
pub use watch::{WatchMode, Watcher};

/// What one sync may do.
#[derive(Clone, Debug)]
pub struct SyncOptions {
    /// Whether the guard against mass removal holds.
    pub deletes: DeleteGuard,
    /// Documents written in one transaction at most.
    pub batch_documents: usize,
    /// Bytes of text written in one transaction, about.
    pub batch_bytes: usize,
}

impl Default for SyncOptions {
    fn default() -> Self {
        Self { deletes: DeleteGuard::Enforced, batch_documents: 256, batch_bytes: 8 << 20 }
    }
}

/// Whether a sync may remove more documents than its policy allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeleteGuard {
    /// It removes nothing then, and says so.
    Enforced,
    /// A person has looked and accepts it, for this one sync.
    Accepted,
}

/// Brings the store of one knowledge base up to date. The newest one that was opened holds the right to write.
pub struct Synchroniser {
    knowledge_base: Arc<KnowledgeBase>,
    store: Arc<dyn KnowledgeStore>,
    maintainer: Arc<dyn Maintainer>,
    loader: Loader,
    chunker: Arc<Chunker>,
    /// Held during a sync, and while readers are switched to another revision.
    gate: tokio::sync::Mutex<switch::Gate>,
    /// Documents whose failure may pass, with the state of the file that was tried in this process.
    tried: Mutex<HashMap<DocumentId, FileStamp>>,
}

impl Synchroniser {
    /// Takes the right to write and opens the revision of the knowledge base's contract.
    ///
    /// # Errors
    /// What the store says.
    pub async fn open(
        knowledge_base: Arc<KnowledgeBase>,
        store: Arc<dyn KnowledgeStore>,
        loader: Loader,
    ) -> Result<Self, StoreError> {
        let lease = store.lease().await?;
        let maintainer = store.maintainer(&lease, &knowledge_base.contract).await?;
        let chunker = Arc::new(Chunker::new(&knowledge_base.contract.chunking));
        let gate = tokio::sync::Mutex::default();
        Ok(Self { knowledge_base, store, maintainer, loader, chunker, gate, tried: Mutex::default() })
    }

    /// The handle that is written through: counts, digest, whether its revision is active.
    pub fn maintainer(&self) -> &Arc<dyn Maintainer> {
        &self.maintainer
    }

    /// Takes over every change of the sources. A document that fails is named in the report and keeps its last good
    /// version; nothing is removed because of a source that could not be listed completely. Waits for a sync that is
    /// running.
    ///
    /// # Errors
    /// Where the store fails, or after `cancel`: what was written stays, and the next sync goes on from there.
    pub async fn sync(
        &self,
        options: &SyncOptions,
        observer: &dyn SyncObserver,
        cancel: &CancellationToken,
    ) -> Result<SyncReport, SyncError> {
        let mut gate = self.gate.lock().await;
        run::run(self, &mut gate, options, observer, cancel).await
    }

    /// Gives every chunk its vector, batch by batch, newest files first; a revision that was built beside the active
    /// one becomes active at the end. Ends when none is left, so call it again after each sync.
    ///
    /// # Errors
    /// Where the store fails. An embedder that cannot go on is a state of the report.
    pub async fn embed_all(
        &self,
        embedder: &Arc<dyn crate::embed::Embedder>,
        options: &EmbedOptions,
        observer: &dyn SyncObserver,
        cancel: &CancellationToken,
    ) -> Result<EmbedReport, SyncError> {
        embed::run(self, embedder, options, observer, cancel).await
    }

    fn tried(&self) -> std::sync::MutexGuard<'_, HashMap<DocumentId, FileStamp>> {
        self.tried.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a sync did not finish.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SyncError {
    /// The store did not do what it was asked.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It was asked to stop.
    #[error("the sync was stopped; what it had written stays, and the next one goes on from there")]
    Cancelled,
}

/// Cores for loading and embedding: all but one, at least one.
pub(crate) fn workers() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get().saturating_sub(1).max(1))
}
