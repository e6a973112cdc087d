//! What `up` says while it runs: what it found, when it can be asked, one line a sync.

use indicatif::MultiProgress;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::watch;

use crate::local::{BaseProgress, Found};
use crate::output;
use crate::wire::{DocumentProblem, Phase, SyncReport};

/// Prints the events of one knowledge base until its sender is gone.
pub(super) async fn print(
    bars: MultiProgress,
    name: String,
    mut progress: watch::Receiver<BaseProgress>,
    ready: Arc<Ready>,
) {
    let mut seen = Seen::default();
    loop {
        let state = progress.borrow_and_update().clone();
        let first = seen.syncs == 0;
        let mut lines = seen.lines(&state);
        if ready.bases > 1 {
            lines.iter_mut().for_each(|line| *line = format!("{name}: {line}"));
        }
        if first && seen.syncs > 0 {
            lines.extend(ready.one_more());
        }
        // A bar must not be drawn into the lines.
        bars.suspend(|| {
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let _ = output::print(&text);
        });
        if progress.changed().await.is_err() {
            return;
        }
    }
}

/// Counts the knowledge bases whose first sync is done; the last one makes the address known.
pub(super) struct Ready {
    bases: usize,
    waiting: AtomicUsize,
    line: String,
}

impl Ready {
    /// Says `line` after the first sync of all of `bases`; `None` if it was said before.
    pub(super) fn new(bases: usize, line: Option<String>) -> Arc<Self> {
        let waiting = AtomicUsize::new(if line.is_some() { bases } else { usize::MAX });
        Arc::new(Self { bases, waiting, line: line.unwrap_or_default() })
    }

    fn one_more(&self) -> Option<String> {
        (self.waiting.fetch_sub(1, Ordering::Relaxed) == 1).then(|| self.line.clone())
    }
}

/// Chunks from which on a later sync's vectors are worth a line.
const MANY_CHUNKS: u64 = 1000;
/// Failed documents that a sync names; `ingest -o json` has all.
const NAMED_FAILURES: usize = 10;

#[derive(Default)]
struct Seen {
    found: bool,
    syncs: u64,
    told: Told,
    making_vectors: bool,
    problem: Option<String>,
}

/// Failures and notes of the sync that was printed last: what is still so is not said again.
#[derive(Default)]
struct Told {
    /// Reason by document.
    failed: HashMap<String, String>,
    notes: HashSet<String>,
}

impl Told {
    fn by(report: &SyncReport) -> Self {
        let failed = report.failed.iter().map(|failure| (failure.document.clone(), failure.reason.clone()));
        Self { failed: failed.collect(), notes: report.notes.iter().cloned().collect() }
    }

    fn knows(&self, failure: &DocumentProblem) -> bool {
        self.failed.get(&failure.document) == Some(&failure.reason)
    }
}

impl Seen {
    fn lines(&mut self, state: &BaseProgress) -> Vec<String> {
        let mut lines = Vec::new();
        let listed = state.total > 0 || state.phase == Phase::Idle;
        if !self.found && listed {
            self.found = true;
            lines.push(found(&state.found));
        }
        if state.syncs > self.syncs
            && let Some(report) = &state.last_sync
        {
            lines.extend(sync(report, if self.syncs == 0 { "read" } else { "synced" }, &self.told));
            self.told = Told::by(report);
            self.syncs = state.syncs;
        }
        let worthy = state.total > 0 && state.syncs <= 1 || state.total >= MANY_CHUNKS;
        if state.phase == Phase::Vectors && !self.making_vectors && worthy {
            lines.push(format!("making vectors of {} in the background", output::count(state.total, "chunk")));
        }
        if state.phase == Phase::Idle && self.making_vectors && state.problem.is_none() && !state.vectors_pending {
            lines.push("vectors are complete".to_owned());
        }
        if state.phase != Phase::Keywords {
            let making = state.phase == Phase::Vectors && worthy;
            self.making_vectors =
                making || self.making_vectors && (state.vectors_pending || state.phase == Phase::Vectors);
        }
        if state.problem != self.problem {
            self.problem.clone_from(&state.problem);
            lines.extend(state.problem.as_ref().map(|problem| format!("problem: {problem}")));
        }
        lines
    }
}

/// `12 documents (8 markdown, 4 pdf); skipped 3 (2 ignored, 1 binary); keywords take about 2 s`
fn found(found: &Found) -> String {
    let total: u64 = found.formats.values().sum();
    let mut line = output::count(total, "document");
    if total > 0 {
        line.push_str(&format!(" ({})", output::counts(&found.formats)));
    }
    let skipped: u64 = found.skipped.values().sum();
    if skipped > 0 {
        line.push_str(&format!("; skipped {} ({})", output::grouped(skipped), output::counts(&found.skipped)));
    }
    if let Some(time) = estimate(&found.bytes) {
        line.push_str(&format!("; a first reading takes roughly {}", output::duration(time)));
    }
    line
}

/// Time to read, cut and index that many bytes, at rates of one core. Those of Markdown (2.3 MB/s), HTML (1.7), CSV
/// (1.2) and PDF (0.65, mostly text) are measured, in CPU time of ingesting up to 1,000 small generated files; office
/// formats are a guess. `None` where it is not worth saying.
fn estimate(bytes: &BTreeMap<String, u64>) -> Option<Duration> {
    let rate = |format: &str| match format {
        "pdf" => 600_000.0,
        "docx" | "xlsx" => 1_000_000.0,
        "html" => 1_700_000.0,
        "csv" => 1_200_000.0,
        _ => 2_300_000.0,
    };
    let seconds: f64 = bytes.iter().map(|(format, bytes)| *bytes as f64 / rate(format)).sum();
    (seconds >= 1.0).then(|| Duration::from_secs_f64(seconds.ceil()))
}

/// One line of counts, and one for each failure and note that was not told before.
fn sync(report: &SyncReport, verb: &str, told: &Told) -> Vec<String> {
    let time = output::duration(Duration::from_millis(report.elapsed_ms));
    let changes = [(report.added, "added"), (report.updated, "updated"), (report.removed, "removed")];
    let mut parts: Vec<String> = changes
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| format!("{} {what}", output::grouped(*number)))
        .collect();
    if parts.is_empty() {
        parts.push("nothing changed".to_owned());
    }
    if !report.failed.is_empty() {
        parts.push(format!("{} failed", report.failed.len()));
    }
    let line = format!("{verb}: {} ({time})", parts.join(", "));
    let news: Vec<&DocumentProblem> = report.failed.iter().filter(|failure| !told.knows(failure)).collect();
    let failures =
        news.iter().take(NAMED_FAILURES).map(|failure| format!("  {}: {}", failure.document, failure.reason));
    let more = news.len().saturating_sub(NAMED_FAILURES);
    let more = (more > 0).then(|| format!("  and {more} more: `groundwork ingest -o json` names all"));
    let notes = report.notes.iter().filter(|note| !told.notes.contains(*note)).map(|note| format!("  note: {note}"));
    std::iter::once(line).chain(failures).chain(more).chain(notes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(list: &[(&str, u64)]) -> BTreeMap<String, u64> {
        list.iter().map(|(name, number)| ((*name).to_owned(), *number)).collect()
    }

    #[test]
    fn what_was_found_is_one_line() {
        let state = Found {
            formats: numbers(&[("markdown", 1_200), ("pdf", 3)]),
            skipped: numbers(&[("binary", 2)]),
            bytes: numbers(&[("pdf", 1_200_000)]),
        };
        let expected =
            "1,203 documents (1,200 markdown, 3 pdf); skipped 2 (2 binary); a first reading takes roughly 2.0 s";
        assert_eq!(found(&state), expected);
        assert_eq!(found(&Found::default()), "0 documents");
    }

    #[test]
    fn the_address_comes_after_the_last_first_sync_and_once() {
        let ready = Ready::new(2, Some("ready: address".into()));
        assert_eq!([ready.one_more(), ready.one_more(), ready.one_more()], [None, Some("ready: address".into()), None]);
        assert_eq!(Ready::new(1, None).one_more(), None);
    }

    #[test]
    fn a_sync_is_one_line_and_one_for_each_failure() {
        let failed = vec![DocumentProblem { document: "docs/a.pdf".into(), reason: "the file has no text".into() }];
        let report = SyncReport { added: 2, elapsed_ms: 40, failed, ..SyncReport::default() };
        let lines = sync(&report, "read", &Told::default());
        assert_eq!(lines, ["read: 2 added, 1 failed (40 ms)", "  docs/a.pdf: the file has no text"]);
        let quiet = SyncReport { elapsed_ms: 3, ..SyncReport::default() };
        assert_eq!(sync(&quiet, "synced", &Told::default()), ["synced: nothing changed (3 ms)"]);
    }

    #[test]
    fn a_failure_and_a_note_are_told_when_they_are_new_or_have_changed() {
        let mut seen = Seen { found: true, ..Seen::default() };
        let mut lines = |syncs: u64, failed: &[(&str, &str)], notes: &[&str]| {
            let failed = failed.iter().map(|(document, reason)| DocumentProblem {
                document: (*document).to_owned(),
                reason: (*reason).to_owned(),
            });
            let notes = notes.iter().map(|note| (*note).to_owned()).collect();
            let report = SyncReport { failed: failed.collect(), notes, elapsed_ms: 3, ..SyncReport::default() };
            seen.lines(&BaseProgress { syncs, last_sync: Some(report), ..BaseProgress::default() })
        };
        let (empty, large) = (("docs/a.md", "the file is empty"), ("docs/b.md", "the file is too large"));
        let first = lines(1, &[empty], &["3 documents that are gone are kept"]);
        assert_eq!(first[1..], ["  docs/a.md: the file is empty", "  note: 3 documents that are gone are kept"]);
        let same = lines(2, &[empty], &["3 documents that are gone are kept"]);
        assert_eq!(same, ["synced: nothing changed, 1 failed (3 ms)"]);
        let more = lines(3, &[empty, large], &["4 documents that are gone are kept"]);
        assert_eq!(more[1..], ["  docs/b.md: the file is too large", "  note: 4 documents that are gone are kept"]);
        let changed = lines(4, &[("docs/a.md", "the file has no text")], &[]);
        assert_eq!(changed[1..], ["  docs/a.md: the file has no text"]);
        assert_eq!(lines(5, &[], &[]), ["synced: nothing changed (3 ms)"]);
        assert_eq!(lines(6, &[empty], &[])[1..], ["  docs/a.md: the file is empty"], "told again when it is back");
    }
}
