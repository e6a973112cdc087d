//! Listing what a source holds.
//!
//! A listing is made without reading documents: only the first bytes of files that are new or changed are looked at,
//! to leave out what is no document. It is sorted by path, so that equal folders give equal listings.

mod built_in;
mod ignores;
mod inline;
mod stamp;
mod walk;

#[cfg(test)]
mod tests;

use groundwork_config::{Source, SourceKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::document::Format;
use crate::load::SkipReason;
use crate::store::FileStamp;

pub use ignores::IGNORE_FILE;
pub use stamp::stamp_of;

/// Examples kept for each reason to leave something out.
const MAX_EXAMPLES: usize = 20;

/// What a source holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// Name of the source.
    pub source: String,
    /// The documents, by path.
    pub files: Vec<ListedFile>,
    /// What was left out. An ignored folder counts as one.
    pub skipped: BTreeMap<SkipReason, Skipped>,
    /// What went wrong, by path.
    pub problems: Vec<Problem>,
    /// Whether everything could be listed. What is missing from an incomplete listing may still be there, so nothing
    /// may be removed because of it.
    pub complete: bool,
}

/// A document that a source holds.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedFile {
    /// Relative to the source, with `/`, in Unicode NFC.
    pub path: String,
    /// Where its bytes are.
    pub origin: Origin,
    /// Stamp when listed; a text of the manifest has none.
    pub stamp: Option<FileStamp>,
    /// What it is, from its name and first bytes. `None` where they could not be read (loading it tells why).
    pub format: Option<Format>,
}

/// Where a document's bytes are.
#[derive(Clone, Debug, PartialEq)]
pub enum Origin {
    /// In the manifest.
    Inline(String),
    /// In this file (the name as the file system has it).
    File(PathBuf),
}

/// How much was left out for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// How many files and folders.
    pub count: u64,
    /// The first of them; a folder ends with `/`.
    pub examples: Vec<String>,
}

impl Skipped {
    /// Adds the counts of another source, keeping the number of examples bounded.
    pub fn add(&mut self, other: &Self) {
        self.count += other.count;
        let room = MAX_EXAMPLES.saturating_sub(self.examples.len());
        self.examples.extend(other.examples.iter().take(room).cloned());
    }
}

/// Something that went wrong at one place of a source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Problem {
    /// Relative path, or the source's own path; empty for the source as a whole.
    pub path: String,
    /// What is wrong and what helps.
    pub reason: String,
}

/// Whether the file at this relative path is known to be unchanged, so that its first bytes need not be read.
pub type IsUnchanged<'a> = &'a (dyn Fn(&str, &FileStamp) -> bool + Sync);

impl Listing {
    /// Lists a source. Blocks on the file system.
    pub fn of(source: &Source, is_unchanged: IsUnchanged<'_>) -> Self {
        let mut listing = Self { source: source.name.clone(), complete: true, ..Self::default() };
        match &source.kind {
            SourceKind::Inline { documents } => inline::list(source, documents, &mut listing),
            SourceKind::Folder { path } => walk::list(source, path, is_unchanged, &mut listing),
        }
        listing.settle();
        listing
    }

    /// A source that could not be listed at all.
    pub(crate) fn broken(source: &str, reason: &str) -> Self {
        let mut listing = Self { source: source.to_owned(), ..Self::default() };
        listing.problem("", reason);
        listing
    }

    /// Number of documents of each format.
    pub fn formats(&self) -> BTreeMap<Format, u64> {
        let mut counts = BTreeMap::new();
        for format in self.files.iter().filter_map(|file| file.format) {
            *counts.entry(format).or_default() += 1;
        }
        counts
    }

    fn skip(&mut self, reason: SkipReason, path: impl Into<String>) {
        let skipped = self.skipped.entry(reason).or_default();
        skipped.count += 1;
        if skipped.examples.len() < MAX_EXAMPLES {
            skipped.examples.push(path.into());
        }
    }

    fn problem(&mut self, path: impl Into<String>, reason: impl Into<String>) {
        self.problems.push(Problem { path: path.into(), reason: reason.into() });
    }

    /// Sorts, and keeps one of the files whose names differ only in how Unicode composes their letters.
    fn settle(&mut self) {
        self.files.sort_by(|a, b| a.path.cmp(&b.path).then_with(|| a.origin.name().cmp(b.origin.name())));
        let mut twins = Vec::new();
        self.files.dedup_by(|later, kept| {
            let twin = later.path == kept.path;
            if twin {
                twins.push(later.path.clone());
            }
            twin
        });
        for path in twins {
            self.problem(path, "another document has the same name in composed Unicode; rename one of the two");
        }
        self.problems.sort();
    }
}

impl Origin {
    fn name(&self) -> &Path {
        match self {
            Self::Inline(_) => Path::new(""),
            Self::File(path) => path,
        }
    }
}

/// Every folder of the source that can hold documents, for watching. Empty for sources that are no folders.
pub(crate) fn folders(source: &Source) -> Vec<PathBuf> {
    match &source.kind {
        SourceKind::Inline { .. } => Vec::new(),
        SourceKind::Folder { path } => walk::folders(source, path),
    }
}
