//! One knowledge base of an instance: its store, its sync, its vectors.

use groundwork_config::{KnowledgeBase, Revision};
use groundwork_knowledge::load::{ExtractionPool, Loader, LoaderOptions};
use groundwork_knowledge::store::{Counts, Principal, Reader};
use groundwork_knowledge::sync::{
    DeleteGuard, EmbedOptions, EmbedReport, EmbedState, SyncError, SyncOptions, SyncReport as WholeReport, Synchroniser,
};
use std::path::Path;
use std::sync::Arc;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::progress::{BaseProgress, Reporter};
use super::service::ServiceError;
use super::stores::OpenStore;
use super::tools::Tools;
use super::view;
use crate::output::{Problem, chain};
use crate::wire::{ErrorCode, KnowledgeBaseStatus, Phase, SyncReport};

/// One knowledge base of an instance.
pub(super) struct Base {
    config: Arc<KnowledgeBase>,
    store: OpenStore,
    tools: Arc<Tools>,
    writer: Option<Synchroniser>,
    progress: watch::Sender<BaseProgress>,
    wake: Notify,
}

impl Base {
    /// Opens it for reading; what this process alone needs of it lies in the folder `state`.
    pub(super) async fn open(config: &KnowledgeBase, state: &Path, tools: &Arc<Tools>) -> Result<Self, Problem> {
        Ok(Self {
            config: Arc::new(config.clone()),
            store: OpenStore::open(config, state, tools).await?,
            tools: Arc::clone(tools),
            writer: None,
            progress: watch::Sender::default(),
            wake: Notify::new(),
        })
    }

    /// Opens a revision in a server for reading; nothing lies in this process's own files.
    pub(super) async fn reading(
        config: KnowledgeBase,
        revision: &Revision,
        tools: &Arc<Tools>,
    ) -> Result<Self, Problem> {
        let store = OpenStore::pinned(&config, revision).await?;
        let (progress, wake) = (watch::Sender::default(), Notify::new());
        Ok(Self { config: Arc::new(config), store, tools: Arc::clone(tools), writer: None, progress, wake })
    }

    /// Takes the right to write as well.
    pub(super) async fn for_writing(mut self, extraction: Option<ExtractionPool>) -> Result<Self, Problem> {
        let loader = Loader::new(LoaderOptions { metadata: self.config.metadata.clone(), extraction });
        let writer = Synchroniser::open(Arc::clone(&self.config), self.store.get(), loader).await;
        self.writer = Some(writer.map_err(|error| {
            Problem::new(format!("failed to take the right to write the index of {}", self.config.name)).because(error)
        })?);
        Ok(self)
    }

    pub(super) fn config(&self) -> &KnowledgeBase {
        &self.config
    }

    /// Follows its progress.
    pub(super) fn progress(&self) -> watch::Receiver<BaseProgress> {
        self.progress.subscribe()
    }

    /// The active revision, as this principal may see it.
    pub(super) async fn reader(&self, principal: &Principal) -> Result<Arc<dyn Reader>, ServiceError> {
        match self.store.get().reader(principal).await? {
            Some(reader) => Ok(reader),
            None => Err(ServiceError::new(ErrorCode::NotReady, self.not_ready())),
        }
    }

    fn not_ready(&self) -> String {
        if self.writer.is_none() {
            let name = &self.config.name;
            return format!(
                "the documents of {name} were never ingested to the end; run `groundwork ingest` or `groundwork up`"
            );
        }
        let state = self.progress.borrow();
        let far = if state.total > 0 { format!(" ({} of {} files)", state.done, state.total) } else { String::new() };
        format!("the documents of {} are still being read{far}; try again in a moment", self.config.name)
    }

    /// Brings keywords up to date; vectors follow in the background.
    pub(super) async fn sync(
        &self,
        deletes: DeleteGuard,
        cancel: &CancellationToken,
    ) -> Result<SyncReport, ServiceError> {
        Ok(view::sync_report(&self.sync_whole(deletes, cancel).await?))
    }

    /// The same with all that the sync tells.
    pub(super) async fn sync_whole(
        &self,
        deletes: DeleteGuard,
        cancel: &CancellationToken,
    ) -> Result<WholeReport, ServiceError> {
        let writer = self.writer()?;
        let reporter = Reporter::new(&self.progress);
        reporter.begin();
        let options = SyncOptions { deletes, ..SyncOptions::default() };
        let outcome = writer.sync(&options, &reporter, cancel).await;
        self.progress.send_modify(|state| match &outcome {
            Ok(report) => {
                state.last_sync = Some(view::sync_report(report));
                (state.phase, state.problem) = (Phase::Idle, None);
                state.syncs += 1;
                state.vectors_pending = report.pending_vectors > 0;
            }
            Err(error) => (state.phase, state.problem) = (Phase::Idle, Some(chain(error))),
        });
        self.wake.notify_one();
        Ok(outcome?)
    }

    fn writer(&self) -> Result<&Synchroniser, ServiceError> {
        let reads = || ServiceError::new(ErrorCode::Conflict, "the index is open for reading only");
        self.writer.as_ref().ok_or_else(reads)
    }

    /// What the revision that is written to has, and whether it is the one that readers get.
    pub(super) async fn written(&self) -> Result<(Counts, bool), ServiceError> {
        let maintainer = self.writer()?.maintainer();
        Ok((maintainer.counts().await?, maintainer.is_active().await?))
    }

    /// Makes vectors whenever some are missing, until `cancel`.
    pub(super) async fn follow_with_vectors(&self, cancel: &CancellationToken) {
        while cancel.run_until_cancelled(self.wake.notified()).await.is_some() {
            if let Err(error) = self.embed(cancel, EmbedOptions::default()).await {
                tracing::error!("vectors of {} did not finish: {error}", self.config.name);
            }
        }
    }

    /// Makes all missing vectors.
    pub(super) async fn embed(&self, cancel: &CancellationToken, options: EmbedOptions) -> Result<(), ServiceError> {
        let report = self.embed_whole(cancel, options).await?;
        let refused = report.and_then(|report| refusal(&report.state));
        refused.map_or(Ok(()), |reason| Err(ServiceError::new(ErrorCode::Internal, reason)))
    }

    /// The same with all that there is to tell; `None` where there is no dense arm.
    pub(super) async fn embed_whole(
        &self,
        cancel: &CancellationToken,
        options: EmbedOptions,
    ) -> Result<Option<EmbedReport>, ServiceError> {
        let before = self.progress.borrow().syncs;
        let outcome = self.try_embed(cancel, options).await;
        self.progress.send_modify(|state| {
            let problem = match &outcome {
                Ok(Some(report)) => {
                    if let Some(sync) = &mut state.last_sync {
                        (sync.embedded, sync.reused) = (report.embedded, report.reused);
                        sync.notes.extend(report.note.clone());
                    }
                    refusal(&report.state)
                }
                Ok(None) => None,
                Err(error) => Some(error.to_string()),
            };
            if state.phase == Phase::Vectors {
                state.phase = Phase::Idle;
            }
            state.problem = problem;
            // A sync that ended meanwhile has woken the next round.
            state.vectors_pending &= state.syncs != before;
        });
        outcome
    }

    async fn try_embed(
        &self,
        cancel: &CancellationToken,
        options: EmbedOptions,
    ) -> Result<Option<EmbedReport>, ServiceError> {
        let (Some(writer), Some(embedder)) = (&self.writer, self.tools.embedder(&self.config.contract.embedding)?)
        else {
            return Ok(None);
        };
        Ok(Some(writer.embed_all(&embedder, &options, &Reporter::new(&self.progress), cancel).await?))
    }

    /// Waits until no vector is missing, or until they cannot be made.
    pub(super) async fn vectors_settled(&self) {
        let mut progress = self.progress.subscribe();
        // The sender lives as long as `self`.
        let _ = progress.wait_for(|state| !state.vectors_pending).await;
    }

    /// Closes its files.
    pub(super) async fn close(&self) {
        self.store.close().await;
    }

    /// How far it is.
    pub(super) async fn status(&self) -> Result<KnowledgeBaseStatus, ServiceError> {
        let state = self.progress.borrow().clone();
        let reader = self.store.get().reader(&Principal::local()).await?;
        let counts = match (&reader, &self.writer) {
            (Some(reader), _) => reader.counts().await?,
            (None, Some(writer)) => writer.maintainer().counts().await?,
            (None, None) => Default::default(),
        };
        let revision = reader.as_ref().map(|reader| reader.revision());
        let building = self.writer.as_ref().map(|writer| writer.maintainer().revision());
        let embedder = self.tools.embedder(&self.config.contract.embedding)?;
        let in_keywords = state.phase == Phase::Keywords;
        Ok(KnowledgeBaseStatus {
            name: self.config.name.clone(),
            phase: state.phase,
            building_revision: building.filter(|building| Some(building) != revision.as_ref()),
            revision,
            files_done: if in_keywords { state.done } else { 0 },
            files_total: if in_keywords { state.total } else { 0 },
            documents: counts.documents,
            chunks: counts.chunks,
            vectors: counts.vectors,
            without_vector: counts.without_vector,
            failed: counts.failed,
            remaining_seconds: state.remaining().filter(|_| state.phase != Phase::Idle).map(|time| time.as_secs()),
            embedder: embedder.map(|embedder| embedder.profile().identity.clone()),
            last_sync: state.last_sync,
            problem: state.problem,
        })
    }
}

/// Why vectors are not complete; nothing where they are, or where it was asked to stop.
pub(super) fn refusal(state: &EmbedState) -> Option<String> {
    match state {
        EmbedState::Complete | EmbedState::Cancelled => None,
        EmbedState::Refused { reason } => Some(format!("vectors are not complete: {reason}")),
        EmbedState::Unavailable { reason } => {
            Some(format!("vectors are not complete, the embedder is out of reach: {reason}"))
        }
    }
}

impl From<SyncError> for ServiceError {
    fn from(error: SyncError) -> Self {
        match error {
            SyncError::Store(error) => error.into(),
            SyncError::Cancelled => Self::new(ErrorCode::NotReady, error.to_string()),
            error => Self::new(ErrorCode::Internal, chain(&error)),
        }
    }
}
