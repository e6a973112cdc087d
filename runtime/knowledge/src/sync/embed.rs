//! Vectors, after keywords.

use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

use super::observe::{Phase, Progress, SyncObserver};
use super::{SyncError, Synchroniser};
use crate::embed::{EmbedError, Embedder};
use crate::store::{EmbedProgress, StoreError};

/// Texts in one transaction: enough to spread its cost, few enough to lose little when stopped.
const BATCH: std::ops::RangeInclusive<usize> = 16..=512;

/// How vectors are made.
#[derive(Clone, Copy, Debug)]
pub struct EmbedOptions {
    /// Wait after the first failure to reach the embedder; doubled after each further one.
    pub first_delay: Duration,
    /// Longest wait.
    pub longest_delay: Duration,
    /// Time without any progress after which it gives up; `None` waits until it is cancelled.
    pub patience: Option<Duration>,
}

impl Default for EmbedOptions {
    fn default() -> Self {
        Self { first_delay: Duration::from_secs(1), longest_delay: Duration::from_secs(60), patience: None }
    }
}

/// What became of the chunks without vectors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmbedReport {
    /// How it ended.
    pub state: EmbedState,
    /// Chunks that got a vector computed now.
    pub embedded: u64,
    /// Chunks that got a stored vector of the same text.
    pub reused: u64,
    /// Chunks that will never have one.
    pub skipped: u64,
    /// Chunks still without.
    pub remaining: u64,
    /// Wall time in milliseconds.
    pub duration_ms: u64,
    /// Why a rebuilt revision was not switched to although it is complete.
    pub note: Option<String>,
}

/// How embedding ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum EmbedState {
    /// Every chunk has what it can have.
    Complete,
    /// It was asked to stop.
    Cancelled,
    /// The embedder answers with something that cannot be used; asking again would not help.
    Refused {
        /// What is wrong and what helps.
        reason: String,
    },
    /// The embedder could not be reached for as long as was allowed.
    Unavailable {
        /// What happened last.
        reason: String,
    },
}

/// Embeds until nothing is left.
pub(super) async fn run(
    synchroniser: &Synchroniser,
    embedder: &Arc<dyn Embedder>,
    options: &EmbedOptions,
    observer: &dyn SyncObserver,
    cancel: &CancellationToken,
) -> Result<EmbedReport, SyncError> {
    let clock = Instant::now();
    let mut embedding =
        Embedding { synchroniser, embedder, options, observer, cancel, total: EmbedProgress::default() };
    let state = embedding.run().await?;
    let note = match state {
        EmbedState::Complete => synchroniser.switch_if_complete(&*synchroniser.gate.lock().await).await?.note,
        _ => None,
    };
    let EmbedProgress { embedded, reused, skipped, remaining } = embedding.total;
    let duration_ms = u64::try_from(clock.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(EmbedReport { state, embedded, reused, skipped, remaining, duration_ms, note })
}

struct Embedding<'a> {
    synchroniser: &'a Synchroniser,
    embedder: &'a Arc<dyn Embedder>,
    options: &'a EmbedOptions,
    observer: &'a dyn SyncObserver,
    cancel: &'a CancellationToken,
    total: EmbedProgress,
}

impl Embedding<'_> {
    async fn run(&mut self) -> Result<EmbedState, SyncError> {
        let (mut delay, mut progress_at) = (self.options.first_delay, Instant::now());
        loop {
            let step = tokio::select! {
                biased;
                () = self.cancel.cancelled() => return Ok(EmbedState::Cancelled),
                step = self.step() => step,
            };
            match step {
                Ok(step) if self.took(step) => return Ok(EmbedState::Complete),
                Ok(_) => (delay, progress_at) = (self.options.first_delay, Instant::now()),
                Err(StoreError::Embed(EmbedError::Unavailable { reason, .. })) => {
                    if self.options.patience.is_some_and(|patience| progress_at.elapsed() + delay > patience) {
                        return Ok(EmbedState::Unavailable { reason });
                    }
                    self.observer.waiting(&reason, delay);
                    if self.cancel.run_until_cancelled(tokio::time::sleep(delay)).await.is_none() {
                        return Ok(EmbedState::Cancelled);
                    }
                    delay = (delay * 2).min(self.options.longest_delay);
                }
                Err(StoreError::Embed(error)) => return Ok(EmbedState::Refused { reason: error.to_string() }),
                Err(error) => return Err(error.into()),
            }
        }
    }

    async fn step(&self) -> Result<EmbedProgress, StoreError> {
        let batch = self.embedder.profile().max_batch.clamp(*BATCH.start(), *BATCH.end());
        self.synchroniser.maintainer.embed_pending(&**self.embedder, batch).await
    }

    /// Adds a step up; true after the last.
    fn took(&mut self, step: EmbedProgress) -> bool {
        let total = &mut self.total;
        total.embedded += step.embedded;
        total.reused += step.reused;
        total.skipped += step.skipped;
        total.remaining = step.remaining;
        let done = total.embedded + total.reused + total.skipped;
        let progress = Progress { phase: Phase::Embedding, done, total: done + step.remaining, current: None };
        self.observer.progress(&progress);
        step.remaining == 0
    }
}
