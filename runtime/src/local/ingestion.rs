//! An ingestion that a file describes: one knowledge base, brought up to date to the end, with a report for whoever
//! started it.

use groundwork_config::{FailedDocument, Ingestion, IngestionReport, KnowledgeBase};
use groundwork_knowledge::sync::{DeleteGuard, EmbedOptions, EmbedReport, EmbedState, Serving, SyncReport};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::base::{Base, refusal};
use super::data::DataFolder;
use super::lock::{Attempt, Holder, Lock};
use super::progress::BaseProgress;
use super::tools::Tools;
use super::{chat, follow, open, setup, view};
use crate::output::Problem;

/// Another writer is refused; only a command that looks who holds the folder is waited for.
const PATIENCE: Duration = Duration::from_secs(1);
/// Failed documents that a report names.
const NAMED_FAILURES: usize = 5;
/// How a person accepts removals.
const ACCEPT: &str = "the annotation groundwork.dev/accept-deletes of the KnowledgeBase";

/// A knowledge base, opened to be brought up to date. No other process opens its data folder meanwhile.
pub(crate) struct OpenIngestion {
    base: Base,
    _lock: Lock,
}

impl OpenIngestion {
    /// Opens the knowledge base for writing, with its state in the data folder.
    pub(crate) async fn open(ingestion: &Ingestion, data: &Path) -> Result<Self, Problem> {
        let knowledge_base = &ingestion.knowledge_base;
        let (state, lock) = claim(knowledge_base, data, "ingest").await?;
        ingestion.endpoints.iter().try_for_each(chat::check_endpoint_key)?;
        let tools = Arc::new(Tools::new(ingestion.endpoints.clone()));
        let base = Base::open(knowledge_base, &state, &tools).await?;
        Ok(Self { base: base.for_writing(Some(open::extraction()?)).await?, _lock: lock })
    }

    /// Follows its progress.
    pub(crate) fn progress(&self) -> watch::Receiver<BaseProgress> {
        self.base.progress()
    }

    /// Takes over what the sources have, vectors included. What went wrong is in the report.
    pub(crate) async fn run(&self, deletes: DeleteGuard, cancel: &CancellationToken) -> IngestionReport {
        let synced = self.base.sync_whole(deletes, cancel).await;
        let vectors = match &synced {
            Ok(_) => self.base.embed_whole(cancel, options()).await,
            Err(_) => Ok(None),
        };
        let mut report = match &synced {
            Ok(sync) => told(sync, vectors.as_ref().ok().and_then(Option::as_ref)),
            Err(_) => IngestionReport::default(),
        };
        let written = self.base.written().await;
        report.problem = match (&synced, &vectors, &written) {
            (Err(error), ..) | (_, Err(error), _) | (.., Err(error)) => Some(error.to_string()),
            (Ok(sync), Ok(vectors), Ok((_, serving))) => problem(sync, vectors.as_ref(), *serving),
        };
        if let Ok((counts, _)) = written {
            (report.documents, report.chunks, report.vectors) = (counts.documents, counts.chunks, counts.vectors);
        }
        report.complete = report.problem.is_none();
        report
    }

    /// Closes its files.
    pub(crate) async fn close(&self) {
        self.base.close().await;
    }
}

/// Takes a data folder for one knowledge base; gives where its state lies. Another writer is refused.
pub(super) async fn claim(
    knowledge_base: &KnowledgeBase,
    data: &Path,
    command: &str,
) -> Result<(PathBuf, Lock), Problem> {
    let data = DataFolder::at(std::path::absolute(data).unwrap_or_else(|_| data.to_owned()));
    setup::apart(std::slice::from_ref(knowledge_base), data.path())?;
    data.create()?;
    match Lock::wait(&data, &Holder::this_process(command, data.path()), PATIENCE).await? {
        // Keyed by what keys the documents: one of the same name that was made anew has none of the old one's.
        Attempt::Locked(lock) => Ok((data.store(&knowledge_base.data_id.to_string()), lock)),
        Attempt::Held(holder) => Err(open::held(&data, holder.as_ref())),
    }
}

fn options() -> EmbedOptions {
    EmbedOptions { patience: Some(follow::PATIENCE), ..EmbedOptions::default() }
}

/// What was done.
fn told(sync: &SyncReport, vectors: Option<&EmbedReport>) -> IngestionReport {
    let shown = view::sync_report(sync);
    let mut notes = shown.notes;
    notes.extend(vectors.and_then(|vectors| vectors.note.clone()));
    let failures = shown.failed.into_iter().take(NAMED_FAILURES);
    IngestionReport {
        added: sync.total.added,
        updated: sync.total.updated,
        removed: sync.total.removed,
        unchanged: sync.total.unchanged,
        failed: sync.total.failed,
        embedded: vectors.map_or(0, |vectors| vectors.embedded),
        reused: vectors.map_or(0, |vectors| vectors.reused),
        failures: failures.map(|one| FailedDocument { document: one.document, reason: one.reason }).collect(),
        notes,
        ..IngestionReport::default()
    }
}

/// Why the revision that was written to does not have all that the sources have; nothing where it may be read.
fn problem(sync: &SyncReport, vectors: Option<&EmbedReport>, serving: bool) -> Option<String> {
    if let Some(source) = sync.sources.iter().find(|source| !source.complete) {
        let reason = source.problems.first().map_or_else(String::new, |problem| match problem.path.as_str() {
            "" => format!(": {}", problem.reason),
            path => format!(": {path}: {}", problem.reason),
        });
        let name = &source.source;
        return Some(format!("the source {name} could not be listed completely, so nothing was removed of it{reason}"));
    }
    if let Some(held) = sync.held {
        return Some(format!(
            "{} of {} documents are gone, more than maxDeletePercent ({} %) allows, so nothing was removed; check the \
             sources, or accept it once with {ACCEPT}",
            held.gone, held.of, held.max_delete_percent
        ));
    }
    if let Some(vectors) = vectors {
        if vectors.state == EmbedState::Cancelled {
            let left = vectors.remaining;
            return Some(format!(
                "it was stopped with {left} vectors left; what is made stays, and the next one goes on"
            ));
        }
        if let Some(refused) = refusal(&vectors.state) {
            return Some(refused);
        }
    }
    (!serving).then(|| {
        let held = (sync.serving == Serving::Held).then(|| sync.notes.last()).flatten();
        let note = vectors.and_then(|vectors| vectors.note.as_ref()).or(held);
        note.map_or_else(
            || "readers do not get the revision yet, although nothing is missing in it".to_owned(),
            |note| format!("{note} ({ACCEPT})"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use groundwork_knowledge::source::Problem as ListingProblem;
    use groundwork_knowledge::sync::{Changes, FailedDocument as FailedSource, HeldDeletes, SourceReport};

    fn sync() -> SyncReport {
        SyncReport {
            knowledge_base: "handbook".into(),
            revision: "r".into(),
            serving: Serving::ThisRevision,
            started: jiff::Timestamp::UNIX_EPOCH,
            duration_ms: 1,
            total: Changes { added: 2, failed: 7, ..Changes::default() },
            sources: vec![SourceReport { source: "docs".into(), complete: true, ..SourceReport::default() }],
            held: None,
            documents: 2,
            chunks: 2,
            pending_vectors: 0,
            notes: Vec::new(),
        }
    }

    fn vectors(state: EmbedState) -> EmbedReport {
        EmbedReport { state, embedded: 1, reused: 1, skipped: 0, remaining: 4, duration_ms: 1, note: None }
    }

    #[test]
    fn only_what_readers_should_get_is_complete() {
        let unlisted = SourceReport {
            source: "docs".into(),
            problems: vec![ListingProblem { path: String::new(), reason: "permission denied".into() }],
            ..SourceReport::default()
        };
        let rebuilt = SyncReport { serving: Serving::RevisionBefore, ..sync() };
        let doubtful = EmbedReport { note: Some("it is not switched to".into()), ..vectors(EmbedState::Complete) };
        let held = HeldDeletes { gone: 40, of: 50, max_delete_percent: 30 };
        let noted = SyncReport { serving: Serving::Held, notes: vec!["it is held".into()], ..sync() };
        let refused = EmbedState::Refused { reason: "401".into() };
        let table = [
            (sync(), None, true, None),
            (rebuilt.clone(), Some(vectors(EmbedState::Complete)), true, None),
            (SyncReport { sources: vec![unlisted], ..sync() }, None, true, Some("docs could not be listed")),
            (SyncReport { held: Some(held), ..sync() }, None, true, Some("groundwork.dev/accept-deletes")),
            (sync(), Some(vectors(refused)), true, Some("vectors are not complete: 401")),
            (sync(), Some(vectors(EmbedState::Cancelled)), true, Some("stopped with 4 vectors left")),
            (rebuilt, Some(doubtful), false, Some("not switched to (the annotation groundwork.dev/accept-deletes")),
            (noted, None, false, Some("it is held (the annotation")),
        ];
        for (sync, vectors, serving, expected) in table {
            let problem = problem(&sync, vectors.as_ref(), serving);
            match (expected, &problem) {
                (None, None) => {}
                (Some(expected), Some(told)) => assert!(told.contains(expected), "{told}"),
                (expected, _) => panic!("{problem:?} where {expected:?} was expected"),
            }
        }
    }

    #[test]
    fn a_report_names_the_first_failures_and_what_vectors_came_to() {
        let failure = |number: u32| FailedSource { path: format!("{number}.pdf"), reason: "no".into(), stale: false };
        let mut sync = sync();
        sync.sources[0].failures = (0..7).map(failure).collect();
        let report = told(&sync, Some(&vectors(EmbedState::Complete)));
        assert_eq!((report.added, report.failed, report.embedded, report.reused), (2, 7, 1, 1));
        let named: Vec<&str> = report.failures.iter().map(|failure| failure.document.as_str()).collect();
        assert_eq!(named, ["docs/0.pdf", "docs/1.pdf", "docs/2.pdf", "docs/3.pdf", "docs/4.pdf"]);
    }
}
