//! One sync, from listing to report.

use futures::StreamExt;
use groundwork_config::Source;
use jiff::Timestamp;
use std::sync::Arc;
use std::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::batch::Batch;
use super::observe::{Phase, Progress, SyncObserver};
use super::plan::{Manifest, Plan, Work, is_unchanged};
use super::prepare::{Prepared, Tools, prepare};
use super::report::{Serving, SourceReport, SyncReport};
use super::switch::Gate;
use super::{SyncError, SyncOptions, Synchroniser, prune, workers};
use crate::identity::DocumentId;
use crate::source::Listing;

/// What the steps of one sync share.
pub(super) struct Run<'a> {
    pub(super) synchroniser: &'a Synchroniser,
    pub(super) options: &'a SyncOptions,
    pub(super) observer: &'a dyn SyncObserver,
    pub(super) cancel: &'a CancellationToken,
    pub(super) started_ns: i64,
    /// One a source, in the order of the report.
    pub(super) reports: Vec<SourceReport>,
    pub(super) notes: Vec<String>,
}

/// Runs a sync.
pub(super) async fn run(
    synchroniser: &Synchroniser,
    gate: &mut Gate,
    options: &SyncOptions,
    observer: &dyn SyncObserver,
    cancel: &CancellationToken,
) -> Result<SyncReport, SyncError> {
    let (started, clock) = (Timestamp::now(), Instant::now());
    let started_ns = i64::try_from(started.as_nanosecond()).unwrap_or(i64::MAX);
    let (reports, notes) = (Vec::new(), Vec::new());
    let mut run = Run { synchroniser, options, observer, cancel, started_ns, reports, notes };
    gate.close();
    let maintainer = &synchroniser.maintainer;
    let manifest: Arc<Manifest> =
        Arc::new(maintainer.manifest().await?.into_iter().map(|entry| (entry.id, entry)).collect());
    let mut plan = run.list(&manifest).await?;
    run.read(&mut plan).await?;
    let held = prune::prune(&mut run, &manifest, &plan).await?;
    run.finish().await?;
    gate.open(held.is_none() && run.reports.iter().all(|report| report.complete), options.deletes);
    let switched = synchroniser.switch_after_keywords(gate).await?;
    run.notes.extend(run.reports.iter().filter_map(SourceReport::kept_note));
    run.notes.extend(held.map(|held| held.note()));
    run.notes.extend(switched.note);
    let mut report = run.report(started, switched.serving).await?;
    report.held = held;
    report.duration_ms = u64::try_from(clock.elapsed().as_millis()).unwrap_or(u64::MAX);
    record(synchroniser, &report).await?;
    Ok(report)
}

async fn record(synchroniser: &Synchroniser, report: &SyncReport) -> Result<(), SyncError> {
    let json = serde_json::to_value(report).expect("a report holds only strings, numbers and lists");
    Ok(synchroniser.maintainer.record_report(json).await?)
}

impl Run<'_> {
    pub(super) fn progress(&self, phase: Phase, done: usize, total: usize, current: Option<&str>) {
        self.observer.progress(&Progress { phase, done: done as u64, total: total as u64, current });
    }

    pub(super) fn check(&self) -> Result<(), SyncError> {
        if self.cancel.is_cancelled() { Err(SyncError::Cancelled) } else { Ok(()) }
    }

    async fn list(&mut self, manifest: &Arc<Manifest>) -> Result<Plan, SyncError> {
        let mut plan = Plan::default();
        let sources = &self.synchroniser.knowledge_base.sources;
        for (index, source) in sources.iter().enumerate() {
            self.check()?;
            self.progress(Phase::Listing, index, sources.len(), Some(&source.name));
            let listing = self.list_source(source, manifest).await;
            self.observer.listed(&listing);
            let mut report = SourceReport::of(&listing);
            plan.add(self.synchroniser, manifest, listing, index, &mut report);
            self.reports.push(report);
        }
        self.progress(Phase::Listing, sources.len(), sources.len(), None);
        Ok(plan)
    }

    async fn list_source(&self, source: &Source, manifest: &Arc<Manifest>) -> Listing {
        let (source, manifest) = (source.clone(), Arc::clone(manifest));
        let data_id = self.synchroniser.knowledge_base.data_id;
        let name = source.name.clone();
        let listed = tokio::task::spawn_blocking(move || {
            let known = |path: &str| manifest.get(&DocumentId::new(data_id, &source.name, path));
            Listing::of(&source, &|path, stamp| known(path).is_some_and(|entry| is_unchanged(entry, stamp)))
        });
        listed.await.unwrap_or_else(|error| Listing::broken(&name, &format!("listing hit an internal error: {error}")))
    }

    /// Reads, cuts and writes, in the order of the listing. Preparing runs ahead of writing by a few documents.
    async fn read(&mut self, plan: &mut Plan) -> Result<(), SyncError> {
        let work = std::mem::take(&mut plan.work);
        let total = work.len();
        let Synchroniser { loader, chunker, .. } = self.synchroniser;
        let tools = Tools { loader: loader.clone(), chunker: Arc::clone(chunker) };
        let prepared = work.into_iter().map(|work| start(work, tools.clone()));
        let mut prepared = futures::stream::iter(prepared).buffered(workers().max(2));
        let (mut batch, mut done) = (Batch::default(), 0);
        while let Some(prepared) = prepared.next().await {
            self.check()?;
            done += 1;
            let current = format!("{}/{}", prepared.work.source, prepared.work.file.path);
            let tried = batch.take(prepared, plan, &mut self.reports);
            self.synchroniser.tried().extend(tried);
            if batch.is_full(self.options) {
                self.write(&mut batch).await?;
            }
            self.progress(Phase::Reading, done, total, Some(&current));
        }
        self.write(&mut batch).await
    }

    async fn write(&mut self, batch: &mut Batch) -> Result<(), SyncError> {
        let maintainer = &*self.synchroniser.maintainer;
        Ok(batch.write(maintainer, self.started_ns, &mut self.reports).await?)
    }

    async fn finish(&self) -> Result<(), SyncError> {
        self.check()?;
        self.progress(Phase::Finishing, 0, 1, None);
        self.synchroniser.maintainer.flush().await?;
        self.progress(Phase::Finishing, 1, 1, None);
        Ok(())
    }

    async fn report(self, started: Timestamp, serving: Serving) -> Result<SyncReport, SyncError> {
        let maintainer = &self.synchroniser.maintainer;
        let counts = maintainer.counts().await?;
        let mut report = SyncReport {
            knowledge_base: self.synchroniser.knowledge_base.name.clone(),
            revision: maintainer.revision(),
            serving,
            started,
            duration_ms: 0,
            total: Default::default(),
            sources: self.reports,
            held: None,
            documents: counts.documents,
            chunks: counts.chunks,
            pending_vectors: self.synchroniser.pending(&counts),
            notes: self.notes,
        };
        report.settle();
        Ok(report)
    }
}

/// Starts preparing a document when polled first; a sync that ends early takes it along.
async fn start(work: Work, tools: Tools) -> Prepared {
    let task = AbortOnDropHandle::new(tokio::spawn(prepare(work, tools)));
    task.await.expect("preparing catches the panics of its steps and is not aborted before it is dropped")
}
