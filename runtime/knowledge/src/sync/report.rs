use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::document::Format;
use crate::load::SkipReason;
use crate::source::{Listing, Problem, Skipped};

/// What one sync of a knowledge base did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SyncReport {
    /// The knowledge base.
    pub knowledge_base: String,
    /// The revision written to.
    pub revision: String,
    /// What readers get after it.
    pub serving: Serving,
    /// When it began.
    pub started: Timestamp,
    /// Wall time in milliseconds until keywords were complete.
    pub duration_ms: u64,
    /// All sources together.
    pub total: Changes,
    /// Each source, in the order of the manifest, then those that are in it no more.
    pub sources: Vec<SourceReport>,
    /// Removals that were held back.
    pub held: Option<HeldDeletes>,
    /// Documents of the revision after it.
    pub documents: u64,
    /// Chunks of the revision after it.
    pub chunks: u64,
    /// Chunks that wait for a vector.
    pub pending_vectors: u64,
    /// What a person should know beyond single documents.
    pub notes: Vec<String>,
}

/// What readers get after a sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Serving {
    /// The revision that was written to.
    ThisRevision,
    /// The revision before: this one is switched to when its vectors are complete.
    RevisionBefore,
    /// The revision before, until a person decides: a note says why.
    Held,
}

/// Counts of documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// New.
    pub added: u64,
    /// Written again because their bytes changed.
    pub updated: u64,
    /// Removed because they are gone.
    pub removed: u64,
    /// As before.
    pub unchanged: u64,
    /// Gone, but kept: the listing was not complete, or too many would have been removed.
    pub kept: u64,
    /// Cannot be read, now or before and unchanged since.
    pub failed: u64,
    /// Of the failed: their last good version still answers.
    pub stale: u64,
    /// Files and folders left out.
    pub skipped: u64,
    /// Chunks written.
    pub chunks: u64,
}

impl Changes {
    /// Whether anything that a reader could see is different.
    pub fn any(&self) -> bool {
        self.added + self.updated + self.removed > 0
    }

    fn add(&mut self, other: &Self) {
        self.added += other.added;
        self.updated += other.updated;
        self.removed += other.removed;
        self.unchanged += other.unchanged;
        self.kept += other.kept;
        self.failed += other.failed;
        self.stale += other.stale;
        self.skipped += other.skipped;
        self.chunks += other.chunks;
    }
}

/// What a sync did with one source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SourceReport {
    /// Name of the source.
    pub source: String,
    /// Counts.
    #[serde(flatten)]
    pub changes: Changes,
    /// Documents listed, by format.
    pub formats: BTreeMap<Format, u64>,
    /// Every document that cannot be read, by path.
    pub failures: Vec<FailedDocument>,
    /// What was left out, by reason.
    pub skipped_by_reason: BTreeMap<SkipReason, Skipped>,
    /// What went wrong while listing, and what could not be taken over of documents that were written.
    pub problems: Vec<Problem>,
    /// Whether everything could be listed.
    pub complete: bool,
}

/// A document that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedDocument {
    /// Relative path.
    pub path: String,
    /// Why, and the fix where there is one.
    pub reason: String,
    /// Whether its last good version still answers.
    pub stale: bool,
}

/// Removals that were held back because they are too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldDeletes {
    /// Documents that are gone.
    pub gone: u64,
    /// Documents there were.
    pub of: u64,
    /// The policy's limit in percent.
    pub max_delete_percent: u8,
}

impl HeldDeletes {
    /// For people.
    pub(super) fn note(&self) -> String {
        let Self { gone, of, max_delete_percent } = self;
        format!(
            "{gone} of {of} documents are gone, more than maxDeletePercent ({max_delete_percent} %) allows, so nothing \
             was removed; check the sources, or sync once with accept-deletes"
        )
    }
}

impl SourceReport {
    pub(super) fn of(listing: &Listing) -> Self {
        let skipped = listing.skipped.values().map(|skipped| skipped.count).sum();
        Self {
            source: listing.source.clone(),
            changes: Changes { skipped, ..Changes::default() },
            formats: listing.formats(),
            skipped_by_reason: listing.skipped.clone(),
            problems: listing.problems.clone(),
            complete: listing.complete,
            ..Self::default()
        }
    }

    /// A source that is in the manifest no more.
    pub(super) fn former(source: &str) -> Self {
        Self { source: source.to_owned(), complete: true, ..Self::default() }
    }

    pub(super) fn failure(&mut self, path: &str, reason: &str, stale: bool) {
        self.changes.failed += 1;
        self.changes.stale += u64::from(stale);
        self.failures.push(FailedDocument { path: path.to_owned(), reason: reason.to_owned(), stale });
    }

    /// For people: that documents which were not listed still answer. The problems tell what could not be listed.
    pub(super) fn kept_note(&self) -> Option<String> {
        let documents = match self.changes.kept {
            _ if self.complete => return None,
            0 => return None,
            1 => "1 document that is gone is kept".to_owned(),
            kept => format!("{kept} documents that are gone are kept"),
        };
        Some(format!("{documents}, because {} could not be listed completely", self.source))
    }

    fn settle(&mut self) {
        self.failures.sort_by(|a, b| a.path.cmp(&b.path));
        self.problems.sort();
    }
}

impl SyncReport {
    /// Sorts the details and sums the sources up.
    pub(super) fn settle(&mut self) {
        self.total = Changes::default();
        for source in &mut self.sources {
            source.settle();
            self.total.add(&source.changes);
        }
    }
}
