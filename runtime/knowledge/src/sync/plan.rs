//! What has to be read: everything that is not known to be unchanged.

use std::collections::{HashMap, HashSet};

use super::Synchroniser;
use super::report::SourceReport;
use crate::identity::{DocumentId, TextHash};
use crate::source::{ListedFile, Listing};
use crate::store::{FileStamp, ManifestEntry};

/// File systems keep times in steps of up to two seconds (FAT), and a file may change within the step in which it was
/// read: a stamp proves something only if it was older than that when the sync began.
const TIME_STEP_NS: i64 = 2_000_000_000;

/// The manifest as it was when the sync began.
pub(super) type Manifest = HashMap<DocumentId, ManifestEntry>;

/// A document that has to be read.
pub(super) struct Work {
    pub(super) id: DocumentId,
    /// Index of its source in the report.
    pub(super) source_index: usize,
    pub(super) source: String,
    pub(super) file: ListedFile,
    pub(super) known: Option<ManifestEntry>,
}

/// What is to be done after listing.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) work: Vec<Work>,
    /// Documents that are there.
    pub(super) present: HashSet<DocumentId>,
    /// Bytes of documents that are there, to tell a moved document from a lost one.
    pub(super) contents: HashSet<TextHash>,
}

/// Whether a file with this stamp is certainly what the entry saw.
pub(super) fn is_unchanged(entry: &ManifestEntry, stamp: &FileStamp) -> bool {
    let settled = entry.synced_at_ns.saturating_sub(TIME_STEP_NS);
    entry.stamp.as_ref() == Some(stamp) && stamp.mtime_ns < settled && stamp.ctime_ns < settled
}

impl Plan {
    /// Plans one source; files known to be unchanged go to the report at once.
    pub(super) fn add(
        &mut self,
        synchroniser: &Synchroniser,
        manifest: &Manifest,
        listing: Listing,
        source_index: usize,
        report: &mut SourceReport,
    ) {
        let data_id = synchroniser.knowledge_base.data_id;
        for file in listing.files {
            let id = DocumentId::new(data_id, &listing.source, &file.path);
            let known = manifest.get(&id);
            self.present.insert(id);
            if let Some(entry) = known.filter(|entry| synchroniser.needs_no_reading(entry, file.stamp.as_ref())) {
                self.contents.insert(entry.content);
                unchanged(entry, report);
            } else {
                let (source, known) = (listing.source.clone(), known.cloned());
                self.work.push(Work { id, source_index, source, file, known });
            }
        }
    }
}

/// Counts a document whose state in the store stays as it is.
pub(super) fn unchanged(entry: &ManifestEntry, report: &mut SourceReport) {
    match &entry.failure {
        Some(reason) => report.failure(&entry.path, reason, entry.version > 0),
        None => report.changes.unchanged += 1,
    }
}

impl Synchroniser {
    /// A failure that may pass leaves no stamp in the manifest, so that the next process tries again; in this one it
    /// is tried once for each state of the file.
    fn needs_no_reading(&self, entry: &ManifestEntry, stamp: Option<&FileStamp>) -> bool {
        let Some(stamp) = stamp else { return false };
        let tried = entry.failure.is_some() && self.tried().get(&entry.id) == Some(stamp);
        tried || is_unchanged(entry, stamp)
    }
}
