//! Keeping an instance up to date: a first sync, vectors behind it, a sync at each change of the folder.

use groundwork_knowledge::store::Principal;
use groundwork_knowledge::sync::{DeleteGuard, EmbedOptions, WatchMode, Watcher};
use std::time::Duration;

use super::base::Base;
use super::instance::Instance;
use super::service::ServiceError;
use crate::wire::{ErrorCode, SyncReport};

/// How long a one-off ingestion waits for an embedder that is out of reach.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// Whether changes of the folder are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Follow {
    /// Sync at each change.
    Changes,
    /// Sync once, and when asked.
    Once,
}

/// Whether a one-off ingestion makes vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vectors {
    /// It ends when every chunk has its vector.
    Made,
    /// It ends when keywords are in.
    Later,
}

impl Instance {
    /// Follows the folder until it is cancelled. Ends with an error only where questions cannot be answered at all:
    /// the first sync of a knowledge base failed.
    pub(crate) async fn follow(&self, follow: Follow, deletes: DeleteGuard) -> Result<(), ServiceError> {
        let vectors = futures::future::join_all(self.bases.iter().map(|base| base.follow_with_vectors(&self.cancel)));
        let syncs = async {
            let outcome = self.follow_changes(follow, deletes).await;
            if outcome.is_err() {
                self.cancel.cancel();
            }
            outcome
        };
        tokio::join!(vectors, syncs).1
    }

    async fn follow_changes(&self, follow: Follow, deletes: DeleteGuard) -> Result<(), ServiceError> {
        let mut watchers = Vec::new();
        for base in &self.bases {
            // Before the first sync, so that no change falls between the two.
            let watcher = match follow {
                Follow::Changes => Some(Watcher::start(&base.config().sources).await),
                Follow::Once => None,
            };
            if let Err(error) = base.sync(deletes, &self.cancel).await {
                let serves = base.reader(&Principal::local()).await.is_ok();
                if !serves && !self.cancel.is_cancelled() {
                    return Err(error);
                }
            }
            watchers.extend(watcher.map(|watcher| (base, watcher)));
        }
        let loops = watchers.iter().map(|(base, watcher)| self.sync_at_changes(base, watcher));
        futures::future::join_all(loops).await;
        Ok(())
    }

    async fn sync_at_changes(&self, base: &Base, watcher: &Watcher) {
        if let WatchMode::Polling { reason } = watcher.mode() {
            tracing::warn!("{}: looking for changes every few seconds: {reason}", base.config().name);
        }
        while self.cancel.run_until_cancelled(watcher.changed()).await.is_some() {
            // The problem is part of the status, and the next change tries again.
            if let Err(error) = base.sync(DeleteGuard::Enforced, &self.cancel).await {
                tracing::debug!("sync of {} failed: {error}", base.config().name);
            }
        }
    }

    /// Syncs every knowledge base once, to the end.
    pub(crate) async fn ingest(&self, deletes: DeleteGuard, vectors: Vectors) -> Result<Vec<SyncReport>, ServiceError> {
        let mut reports = Vec::with_capacity(self.bases.len());
        for base in &self.bases {
            base.sync(deletes, &self.cancel).await?;
        }
        for base in &self.bases {
            if vectors == Vectors::Made {
                base.embed(&self.cancel, EmbedOptions { patience: Some(PATIENCE), ..EmbedOptions::default() }).await?;
            }
            if self.cancel.is_cancelled() {
                return Err(ServiceError::new(ErrorCode::NotReady, "the ingestion was stopped; run it again to go on"));
            }
            reports.extend(base.progress().borrow().last_sync.clone());
        }
        Ok(reports)
    }

    /// Progress of every knowledge base, by name.
    pub(crate) fn progress(&self) -> Vec<(String, tokio::sync::watch::Receiver<super::BaseProgress>)> {
        self.bases.iter().map(|base| (base.config().name.clone(), base.progress())).collect()
    }

    /// Ends syncs and vectors at their next step.
    pub(crate) fn stop(&self) {
        self.cancel.cancel();
    }
}
