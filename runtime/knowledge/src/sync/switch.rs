//! When readers get another revision.

use groundwork_config::Embedding;

use super::prune::too_many;
use super::report::Serving;
use super::{DeleteGuard, SyncError, Synchroniser};
use crate::store::{Counts, Principal};

/// Whether the revision that is written to is as complete as the last sync could make it. Closed while a sync runs.
#[derive(Debug, Default)]
pub(super) struct Gate {
    finished: Option<Finished>,
}

#[derive(Clone, Copy, Debug)]
struct Finished {
    complete: bool,
    deletes: DeleteGuard,
}

/// What a switch came to.
pub(super) struct Switched {
    pub(super) serving: Serving,
    pub(super) note: Option<String>,
}

impl Switched {
    fn to(serving: Serving) -> Self {
        Self { serving, note: None }
    }
}

impl Gate {
    pub(super) fn close(&mut self) {
        self.finished = None;
    }

    pub(super) fn open(&mut self, complete: bool, deletes: DeleteGuard) {
        self.finished = Some(Finished { complete, deletes });
    }
}

impl Synchroniser {
    /// Keywords are in: enough for a first revision, and for one that replaces another if no vector is missing.
    pub(super) async fn switch_after_keywords(&self, gate: &Gate) -> Result<Switched, SyncError> {
        if !self.maintainer.is_active().await? && self.store.reader(&Principal::local()).await?.is_none() {
            self.activate().await?;
        }
        self.switch_if_complete(gate).await
    }

    /// Switches to the revision if its vectors are complete and the last sync leaves no doubt.
    pub(super) async fn switch_if_complete(&self, gate: &Gate) -> Result<Switched, SyncError> {
        if self.maintainer.is_active().await? {
            return Ok(Switched::to(Serving::ThisRevision));
        }
        let counts = self.maintainer.counts().await?;
        let Some(finished) = gate.finished.filter(|_| self.pending(&counts) == 0) else {
            return Ok(Switched::to(Serving::RevisionBefore));
        };
        if let Some(note) = self.doubt(finished, &counts).await? {
            return Ok(Switched { serving: Serving::Held, note: Some(note) });
        }
        self.activate().await?;
        Ok(Switched::to(Serving::ThisRevision))
    }

    /// Why a rebuilt revision should not replace the one before.
    async fn doubt(&self, finished: Finished, counts: &Counts) -> Result<Option<String>, SyncError> {
        let before = match self.store.reader(&Principal::local()).await? {
            Some(reader) if finished.deletes == DeleteGuard::Enforced => reader.counts().await?.documents,
            _ => return Ok(None),
        };
        let lost = before.saturating_sub(counts.documents);
        let reason = if !finished.complete {
            "a source could not be listed completely".to_owned()
        } else if too_many(lost, before, self.knowledge_base.sync.max_delete_percent) {
            format!("it has {} documents where the one before has {before}", counts.documents)
        } else {
            return Ok(None);
        };
        Ok(Some(format!(
            "the rebuilt revision is not switched to, the one before answers: {reason}; solve that, or sync once with \
             accept-deletes"
        )))
    }

    /// Chunks that wait for a vector.
    pub(super) fn pending(&self, counts: &Counts) -> u64 {
        match self.knowledge_base.contract.embedding {
            Embedding::None => 0,
            _ => counts.chunks.saturating_sub(counts.vectors + counts.without_vector),
        }
    }

    async fn activate(&self) -> Result<(), SyncError> {
        Ok(self.maintainer.activate().await?)
    }
}
