//! Collects what documents became and hands it to the store, one transaction a batch.

use super::SyncOptions;
use super::plan::{Plan, Work, unchanged};
use super::prepare::{Outcome, Prepared, Retry};
use super::report::SourceReport;
use crate::identity::DocumentId;
use crate::source::Problem;
use crate::store::{DocumentFailure, DocumentWrite, FileStamp, Maintainer, StoreError};

/// What waits to be written.
#[derive(Default)]
pub(super) struct Batch {
    writes: Vec<(Work, DocumentWrite)>,
    bytes: usize,
    stamps: Vec<(DocumentId, FileStamp)>,
    failures: Vec<(Work, DocumentFailure)>,
}

impl Batch {
    /// Takes one document; whatever needs no writing goes to the report. Returns the state of a file that need not be
    /// tried again in this process.
    pub(super) fn take(
        &mut self,
        prepared: Prepared,
        plan: &mut Plan,
        reports: &mut [SourceReport],
    ) -> Option<(DocumentId, FileStamp)> {
        let Prepared { work, outcome } = prepared;
        match outcome {
            Outcome::Vanished => {
                plan.present.remove(&work.id);
            }
            Outcome::Same(stamp) => self.same(&work, stamp, plan, &mut reports[work.source_index]),
            Outcome::Write(write) => {
                plan.contents.insert(write.content);
                self.bytes += write.document.body.len();
                self.writes.push((work, *write));
            }
            Outcome::Failed(failure, retry) => {
                let id = work.id;
                self.failures.push((work, failure));
                if let Retry::NextProcess(stamp) = retry {
                    return Some((id, stamp));
                }
            }
        }
        None
    }

    fn same(&mut self, work: &Work, stamp: Option<FileStamp>, plan: &mut Plan, report: &mut SourceReport) {
        self.stamps.extend(stamp.map(|stamp| (work.id, stamp)));
        if let Some(entry) = &work.known {
            plan.contents.insert(entry.content);
            unchanged(entry, report);
        }
    }

    /// Whether it is time to write.
    pub(super) fn is_full(&self, options: &SyncOptions) -> bool {
        let documents = self.writes.len().max(self.failures.len()).max(self.stamps.len() / 16);
        documents >= options.batch_documents.max(1) || self.bytes >= options.batch_bytes
    }

    /// Writes what was collected, then counts it.
    pub(super) async fn write(
        &mut self,
        maintainer: &dyn Maintainer,
        started_ns: i64,
        reports: &mut [SourceReport],
    ) -> Result<(), StoreError> {
        let batch = std::mem::take(self);
        write_documents(batch.writes, maintainer, started_ns, reports).await?;
        touch(batch.stamps, maintainer, started_ns).await?;
        record_failures(batch.failures, maintainer, started_ns, reports).await
    }
}

async fn write_documents(
    writes: Vec<(Work, DocumentWrite)>,
    maintainer: &dyn Maintainer,
    started_ns: i64,
    reports: &mut [SourceReport],
) -> Result<(), StoreError> {
    if writes.is_empty() {
        return Ok(());
    }
    for (work, write) in &writes {
        count(work, write, &mut reports[work.source_index]);
    }
    let documents = writes.into_iter().map(|(_, write)| write).collect();
    maintainer.write_documents(started_ns, documents).await
}

fn count(work: &Work, write: &DocumentWrite, report: &mut SourceReport) {
    match work.known.as_ref().is_some_and(|known| known.version > 0) {
        true => report.changes.updated += 1,
        false => report.changes.added += 1,
    }
    report.changes.chunks += write.chunked.parents.iter().map(|parent| parent.chunks.len() as u64).sum::<u64>();
    let notes = write.document.notes.iter().cloned();
    report.problems.extend(notes.map(|reason| Problem { path: write.path.clone(), reason }));
}

async fn touch(
    stamps: Vec<(DocumentId, FileStamp)>,
    maintainer: &dyn Maintainer,
    started_ns: i64,
) -> Result<(), StoreError> {
    if stamps.is_empty() {
        return Ok(());
    }
    maintainer.touch_documents(started_ns, stamps).await
}

async fn record_failures(
    failures: Vec<(Work, DocumentFailure)>,
    maintainer: &dyn Maintainer,
    started_ns: i64,
    reports: &mut [SourceReport],
) -> Result<(), StoreError> {
    if failures.is_empty() {
        return Ok(());
    }
    for (work, failure) in &failures {
        let stale = work.known.as_ref().is_some_and(|known| known.version > 0);
        reports[work.source_index].failure(&failure.path, &failure.reason, stale);
    }
    let failures = failures.into_iter().map(|(_, failure)| failure).collect();
    maintainer.record_failures(started_ns, failures).await
}
