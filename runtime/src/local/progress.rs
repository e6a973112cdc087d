//! How far a knowledge base is: written by its sync, read by whoever shows it.

use groundwork_knowledge::source::Listing;
use groundwork_knowledge::sync::{Phase as Step, Progress, SyncObserver};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tokio::sync::watch;

use crate::wire::{Phase, SyncReport};

/// How far a knowledge base is.
#[derive(Clone, Debug, Default)]
pub(crate) struct BaseProgress {
    /// What it does.
    pub(crate) phase: Phase,
    /// Done in this phase: files, or chunks.
    pub(crate) done: u64,
    /// To be done in this phase.
    pub(crate) total: u64,
    /// When this phase began.
    pub(crate) since: Option<Instant>,
    /// What the running or last sync found, before it read anything.
    pub(crate) found: Found,
    /// What the last finished sync did.
    pub(crate) last_sync: Option<SyncReport>,
    /// Finished syncs of this process.
    pub(crate) syncs: u64,
    /// Whether chunks may wait for vectors.
    pub(crate) vectors_pending: bool,
    /// Why the last sync or the vectors did not finish.
    pub(crate) problem: Option<String>,
}

/// What listing the sources found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// Documents, by format.
    pub(crate) formats: BTreeMap<String, u64>,
    /// Files and folders left out, by reason.
    pub(crate) skipped: BTreeMap<String, u64>,
    /// Bytes of the documents, by format.
    pub(crate) bytes: BTreeMap<String, u64>,
}

impl BaseProgress {
    /// Time until this phase ends at its rate so far; `None` before a rate is known.
    pub(crate) fn remaining(&self) -> Option<Duration> {
        let elapsed = self.since?.elapsed();
        // The first of many files waits for the start of everything: a rate from it would promise hours.
        let known = self.done > 0 && self.done * 50 >= self.total && self.total >= self.done;
        let known = known && elapsed > Duration::from_millis(500);
        known.then(|| elapsed.mul_f64((self.total - self.done) as f64 / self.done as f64))
    }

    fn enter(&mut self, phase: Phase) {
        if self.phase != phase {
            *self = Self { phase, done: 0, total: 0, since: Some(Instant::now()), ..std::mem::take(self) };
        }
    }
}

/// Carries a sync's progress to those who watch.
pub(super) struct Reporter<'a> {
    sender: &'a watch::Sender<BaseProgress>,
}

impl<'a> Reporter<'a> {
    pub(super) fn new(sender: &'a watch::Sender<BaseProgress>) -> Self {
        Self { sender }
    }

    /// Begins a sync: what an earlier one found is forgotten.
    pub(super) fn begin(&self) {
        self.sender.send_modify(|state| {
            state.enter(Phase::Keywords);
            state.found = Found::default();
        });
    }
}

impl SyncObserver for Reporter<'_> {
    fn listed(&self, listing: &Listing) {
        self.sender.send_modify(|state| {
            for (reason, skipped) in &listing.skipped {
                *state.found.skipped.entry(reason.to_string()).or_default() += skipped.count;
            }
            for file in &listing.files {
                let format =
                    file.format.map_or_else(|| "unreadable".to_owned(), |format| super::view::serde_name(&format));
                *state.found.bytes.entry(format.clone()).or_default() +=
                    file.stamp.as_ref().map_or(0, |stamp| stamp.size);
                *state.found.formats.entry(format).or_default() += 1;
            }
        });
    }

    fn progress(&self, progress: &Progress<'_>) {
        let phase = match progress.phase {
            Step::Reading => Phase::Keywords,
            Step::Embedding => Phase::Vectors,
            // Short steps: showing them would only make the bar jump.
            Step::Listing | Step::Pruning | Step::Finishing => return,
        };
        self.sender.send_modify(|state| {
            // A sync that runs while vectors are made is short; its own progress is the one to show.
            if phase == Phase::Vectors && state.phase == Phase::Keywords {
                return;
            }
            state.enter(phase);
            (state.done, state.total) = (progress.done, progress.total);
        });
    }

    fn waiting(&self, reason: &str, delay: Duration) {
        let text = format!("the embedder cannot be reached ({reason}); next try in {} s", delay.as_secs().max(1));
        self.sender.send_modify(|state| state.problem = Some(text.clone()));
        tracing::warn!("{text}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remaining_time_follows_the_rate_so_far() {
        let since = Instant::now().checked_sub(Duration::from_secs(10));
        let state = BaseProgress { done: 20, total: 60, since, ..BaseProgress::default() };
        let remaining = state.remaining().expect("a rate is known").as_secs_f64();
        assert!((20.0..20.5).contains(&remaining), "{remaining}");
        assert_eq!(BaseProgress { done: 0, ..state.clone() }.remaining(), None);
        assert_eq!(BaseProgress { done: 1, total: 1_000, ..state }.remaining(), None);
    }
}
