use serde::{Deserialize, Serialize};
use std::time::Duration;

use crate::source::Listing;

/// Told how far a sync is. Called often and from the sync itself: must not block.
pub trait SyncObserver: Send + Sync {
    /// A source was listed.
    fn listed(&self, listing: &Listing) {
        let _ = listing;
    }

    /// A step forward.
    fn progress(&self, progress: &Progress<'_>) {
        let _ = progress;
    }

    /// The embedder cannot be reached and is asked again after `delay`.
    fn waiting(&self, reason: &str, delay: Duration) {
        let _ = (reason, delay);
    }
}

/// For those who do not want to know.
impl SyncObserver for () {}

/// How far a sync is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress<'a> {
    /// What it does.
    pub phase: Phase,
    /// Done in this phase: sources, files, documents, files, chunks.
    pub done: u64,
    /// To be done in this phase, as far as known.
    pub total: u64,
    /// `source/path` of the file done last, or the source's name.
    pub current: Option<&'a str>,
}

/// What a sync does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Lists the sources.
    Listing,
    /// Reads, cuts and writes what may have changed.
    Reading,
    /// Removes what is gone.
    Pruning,
    /// Makes the indexes durable.
    Finishing,
    /// Gives chunks their vectors.
    Embedding,
}
