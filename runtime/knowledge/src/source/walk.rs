//! Walks a folder: what git would show, without what is generated, hidden or no document.

use groundwork_config::Source;
use ignore::gitignore::Gitignore;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, FileType};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use unicode_normalization::UnicodeNormalization;

use super::ignores::{IgnoreStack, Verdict, globs};
use super::{IsUnchanged, ListedFile, Listing, Origin, built_in, stamp_of};
use crate::document::Format;
use crate::load::{Detection, HEAD_BYTES, MAX_FILE_BYTES, SkipReason, detect_format};
use crate::store::FileStamp;

/// Folders inside each other that are followed.
const MAX_DEPTH: usize = 128;

/// Lists the folder at `root`.
pub(super) fn list(source: &Source, root: &Path, is_unchanged: IsUnchanged<'_>, listing: &mut Listing) {
    let Some(real) = real_folder(root, listing) else { return };
    let mut walk = Walk::new(source, real, Some(is_unchanged), listing);
    walk.folder(&walk.root.clone(), "", walk.include_all);
}

/// The folders below `root` that a listing would enter, `root` included.
pub(super) fn folders(source: &Source, root: &Path) -> Vec<PathBuf> {
    let mut listing = Listing::default();
    let Some(real) = real_folder(root, &mut listing) else { return Vec::new() };
    let mut walk = Walk::new(source, real, None, &mut listing);
    walk.folder(&walk.root.clone(), "", walk.include_all);
    walk.entered
}

fn real_folder(root: &Path, listing: &mut Listing) -> Option<PathBuf> {
    let checked = fs::canonicalize(root).and_then(|real| match fs::metadata(&real)?.is_dir() {
        true => Ok(real),
        false => Err(io::Error::from(ErrorKind::NotADirectory)),
    });
    let reason = match checked {
        Ok(real) => return Some(real),
        Err(error) if error.kind() == ErrorKind::NotFound => "the folder does not exist".to_owned(),
        Err(error) if error.kind() == ErrorKind::NotADirectory => "this is not a folder".to_owned(),
        Err(error) => format!("failed to open the folder: {error}"),
    };
    listing.problem(root.display().to_string(), format!("{reason}; check the source's path"));
    listing.complete = false;
    None
}

struct Walk<'a> {
    root: PathBuf,
    ignores: IgnoreStack,
    include: Gitignore,
    exclude: Gitignore,
    include_all: bool,
    /// `None`: only folders are wanted.
    is_unchanged: Option<IsUnchanged<'a>>,
    /// Real paths of the folders around the current one, to see loops of links.
    around: Vec<PathBuf>,
    /// Every folder entered, as walked.
    entered: Vec<PathBuf>,
    listing: &'a mut Listing,
}

struct Entry<'a> {
    path: &'a Path,
    name: &'a str,
    relative: String,
    included: bool,
}

impl<'a> Walk<'a> {
    fn new(source: &Source, root: PathBuf, is_unchanged: Option<IsUnchanged<'a>>, listing: &'a mut Listing) -> Self {
        let mut broken = Vec::new();
        let include = globs(&root, &source.include, "include", &mut |reason| broken.push(reason));
        let exclude = globs(&root, &source.exclude, "exclude", &mut |reason| broken.push(reason));
        listing.complete = broken.is_empty();
        broken.into_iter().for_each(|reason| listing.problem("", reason));
        let ignores =
            IgnoreStack::above(&root, &mut |path, reason| listing.problem(path.display().to_string(), reason));
        let include_all = source.include.is_empty();
        let around = vec![root.clone()];
        Self { root, ignores, include, exclude, include_all, is_unchanged, around, entered: Vec::new(), listing }
    }

    /// Walks one folder; `relative` is its path with a `/` at the end, or nothing for the root.
    fn folder(&mut self, folder: &Path, relative: &str, included: bool) {
        let names = match names_of(folder) {
            Ok(names) => names,
            Err(error) => return self.unreadable(relative, &error),
        };
        let plain: BTreeSet<String> = names.iter().filter_map(|(name, _)| name.to_str().map(str::to_owned)).collect();
        let marked = plain.iter().find_map(|name| built_in::marked(name)).filter(|_| !relative.is_empty());
        if let Some(reason) = marked {
            return self.listing.skip(reason, relative);
        }
        self.entered.push(folder.to_owned());
        let listing = &mut *self.listing;
        let root = &self.root;
        self.ignores.enter(folder, |name| plain.contains(name), &mut |path, reason| {
            listing.problem(shown(root, path), reason);
        });
        for (name, file_type) in &names {
            let path = folder.join(name);
            match name.to_str() {
                Some(name) => {
                    let relative = format!("{relative}{}", name.nfc());
                    self.entry(Entry { path: &path, name, relative, included }, *file_type, &plain);
                }
                None => self.listing.problem(shown(&self.root, &path), NOT_UTF8),
            }
        }
        self.ignores.leave();
    }

    fn unreadable(&mut self, relative: &str, error: &io::Error) {
        if error.kind() == ErrorKind::NotFound && !relative.is_empty() {
            return;
        }
        self.listing.complete = false;
        self.listing.problem(relative, format!("failed to list the folder: {error}"));
    }

    fn entry(&mut self, entry: Entry<'_>, file_type: FileType, beside: &BTreeSet<String>) {
        let Some(file_type) = self.followed(&entry, file_type) else { return };
        let verdict = self.ignores.verdict(entry.path, file_type.is_dir());
        if let Some(reason) = self.refusal(&entry, file_type.is_dir(), verdict, beside) {
            let end = if file_type.is_dir() { "/" } else { "" };
            return self.listing.skip(reason, format!("{}{end}", entry.relative));
        }
        let included = entry.included || self.include.matched(entry.path, file_type.is_dir()).is_ignore();
        if file_type.is_dir() {
            self.enter(&entry, included);
        } else if !file_type.is_file() {
            self.listing.skip(SkipReason::NotAFile, entry.relative);
        } else if !included {
            self.listing.skip(SkipReason::NotIncluded, entry.relative);
        } else if let Some(is_unchanged) = self.is_unchanged {
            self.file(entry, is_unchanged);
        }
    }

    fn refusal(
        &self,
        entry: &Entry<'_>,
        is_folder: bool,
        verdict: Verdict,
        beside: &BTreeSet<String>,
    ) -> Option<SkipReason> {
        if self.exclude.matched(entry.path, is_folder).is_ignore() {
            return Some(SkipReason::Excluded);
        }
        match verdict {
            Verdict::Take => return None,
            Verdict::Ignore => return Some(SkipReason::Ignored),
            Verdict::None => {}
        }
        let built_in = match is_folder {
            true => built_in::folder(entry.name, |name| beside.contains(name)),
            false => built_in::is_temporary(entry.name).then_some(SkipReason::Temporary),
        };
        built_in.or(entry.name.starts_with('.').then_some(SkipReason::Hidden))
    }

    /// The type of what an entry is in the end. `None`: a link that is not followed, already noted.
    fn followed(&mut self, entry: &Entry<'_>, file_type: FileType) -> Option<FileType> {
        if !file_type.is_symlink() {
            return Some(file_type);
        }
        let target = match fs::canonicalize(entry.path) {
            Ok(target) => target,
            Err(error) => {
                self.listing.problem(&*entry.relative, format!("failed to follow the link: {error}"));
                return None;
            }
        };
        if !target.starts_with(&self.root) {
            self.listing.skip(SkipReason::LinkOutside, &*entry.relative);
            return None;
        }
        if self.around.iter().any(|folder| folder.starts_with(&target)) {
            self.listing.problem(&*entry.relative, "the link leads to a folder around it; it is not followed");
            return None;
        }
        fs::metadata(target).ok().map(|metadata| metadata.file_type())
    }

    fn enter(&mut self, entry: &Entry<'_>, included: bool) {
        if self.around.len() > MAX_DEPTH {
            self.listing.complete = false;
            let reason = format!("the folder lies more than {MAX_DEPTH} folders deep; it is not read");
            return self.listing.problem(&*entry.relative, reason);
        }
        let real = fs::canonicalize(entry.path).unwrap_or_else(|_| entry.path.to_owned());
        self.around.push(real);
        self.folder(entry.path, &format!("{}/", entry.relative), included);
        self.around.pop();
    }

    fn file(&mut self, entry: Entry<'_>, is_unchanged: IsUnchanged<'_>) {
        let stamp = match fs::metadata(entry.path) {
            Ok(metadata) => stamp_of(&metadata),
            Err(error) if error.kind() == ErrorKind::NotFound => return,
            Err(_) => return self.add(entry, None, None),
        };
        let by_name = format_of(&entry.relative, &[]).ok();
        if is_unchanged(&entry.relative, &stamp) {
            return self.add(entry, Some(stamp), by_name);
        }
        if stamp.size > MAX_FILE_BYTES {
            return self.listing.skip(SkipReason::TooLarge, entry.relative);
        }
        match head_of(entry.path).map(|head| format_of(&entry.relative, &head)) {
            Ok(Ok(format)) => self.add(entry, Some(stamp), Some(format)),
            Ok(Err(reason)) => self.listing.skip(reason, entry.relative),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(_) => self.add(entry, Some(stamp), by_name),
        }
    }

    fn add(&mut self, entry: Entry<'_>, stamp: Option<FileStamp>, format: Option<Format>) {
        let origin = Origin::File(entry.path.to_owned());
        self.listing.files.push(ListedFile { path: entry.relative, origin, stamp, format });
    }
}

const NOT_UTF8: &str = "the name is not valid UTF-8; rename it";

/// Names in a folder, sorted by their bytes.
fn names_of(folder: &Path) -> io::Result<Vec<(OsString, FileType)>> {
    let entries =
        fs::read_dir(folder)?.map(|entry| entry.and_then(|entry| Ok((entry.file_name(), entry.file_type()?))));
    let mut names = entries.collect::<io::Result<Vec<_>>>()?;
    names.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(names)
}

fn head_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(HEAD_BYTES);
    File::open(path)?.take(HEAD_BYTES as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// What a document is, from its path and first bytes, or why it is none.
pub(super) fn format_of(path: &str, head: &[u8]) -> Result<Format, SkipReason> {
    if built_in::is_manifest(path, head) {
        return Err(SkipReason::Manifest);
    }
    match detect_format(path, head) {
        Detection::Format(format) => Ok(format),
        Detection::Skip(reason) => Err(reason),
    }
}

/// A path of the walk, for people.
fn shown(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}
