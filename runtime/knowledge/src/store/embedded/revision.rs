//! A revision in memory: its contract, its derived parts, and how far both are.

use groundwork_config::Contract;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::Shared;
use super::derived::{Derived, Snapshot};
use crate::store::StoreError;

/// A revision that someone reads or writes.
pub(super) struct Revision {
    /// Row key.
    pub(super) key: i64,
    /// Hash of the contract: its identity.
    pub(super) hash: String,
    pub(super) contract: Arc<Contract>,
    pub(super) derived: Derived,
    committed: AtomicI64,
}

impl Revision {
    pub(super) fn new(key: i64, hash: String, contract: Contract, derived: Derived) -> Self {
        let committed = AtomicI64::new(derived.snapshot().generation);
        Self { key, hash, contract: Arc::new(contract), derived, committed }
    }

    /// Tells readers that the file is at this generation.
    pub(super) fn committed(&self, generation: i64) {
        self.committed.fetch_max(generation, Ordering::Release);
    }

    /// The derived state, caught up with every write that has returned.
    pub(super) async fn fresh(self: &Arc<Self>, shared: &Arc<Shared>) -> Result<Arc<Snapshot>, StoreError> {
        let snapshot = self.derived.snapshot();
        if snapshot.generation >= self.committed.load(Ordering::Acquire) {
            return Ok(snapshot);
        }
        let (revision, shared) = (Arc::clone(self), Arc::clone(shared));
        finish(async move { revision.derived.catch_up(&shared.database).await }).await
    }

    /// Makes the derived state durable.
    pub(super) async fn save(self: &Arc<Self>, shared: &Arc<Shared>) -> Result<(), StoreError> {
        let (revision, shared) = (Arc::clone(self), Arc::clone(shared));
        finish(async move { revision.derived.save(&shared.database).await }).await
    }
}

/// Runs to the end even where the caller gives up: half a step is no state to leave behind.
pub(super) async fn finish<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    match tokio::spawn(work).await {
        Ok(value) => value,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}
