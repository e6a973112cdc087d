//! Where a folder's index lies: one data folder a folder, found again from the folder or from anywhere below it.

use groundwork_config::RuntimeConfig;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

use crate::output::Problem;

/// Version of the data folder's layout; another one is refused, never converted silently.
const LAYOUT: u32 = 1;
const RECORD: &str = "instance.json";

/// The data of one folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DataFolder {
    path: PathBuf,
}

/// What is remembered of the folder and of how it was last ingested. Holds no secrets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Version of the layout.
    pub(crate) layout: u32,
    /// The canonical folder.
    pub(crate) folder: PathBuf,
    /// The configuration of the last `up` or `ingest`: what questions are answered with.
    pub(crate) config: RuntimeConfig,
}

impl Record {
    /// The record of a folder with its present configuration.
    pub(crate) fn new(folder: &Path, config: RuntimeConfig) -> Self {
        Self { layout: LAYOUT, folder: folder.to_owned(), config }
    }
}

impl DataFolder {
    /// The data folder given by hand.
    pub(crate) fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The data folder of a canonical folder, in the user's data directory.
    pub(crate) fn of(folder: &Path) -> Result<Self, Problem> {
        Ok(Self { path: data_root()?.join(folder_key(folder)) })
    }

    /// The nearest data folder that exists, of `directory` or a directory above it.
    pub(crate) fn find_from(directory: &Path) -> Result<Option<Self>, Problem> {
        let root = data_root()?;
        let found = directory.ancestors().map(|folder| root.join(folder_key(folder)));
        Ok(found.map(|path| Self { path }).find(Self::is_used))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether anything was ever ingested into it.
    pub(crate) fn is_used(&self) -> bool {
        self.path.join(RECORD).is_file()
    }

    /// Where a knowledge base's store lies.
    pub(crate) fn store(&self, knowledge_base: &str) -> PathBuf {
        self.path.join("stores").join(knowledge_base)
    }

    /// Makes it, readable by its owner only: it holds the text of the documents.
    pub(crate) fn create(&self) -> Result<(), Problem> {
        create_private(&self.path).map_err(|error| {
            Problem::new(format!("failed to make the data folder {}", self.path.display()))
                .because(error)
                .fix("name one that you may write to with `--data-dir PATH`")
        })
    }

    /// What is remembered. Fails where nothing was ever ingested.
    pub(crate) fn record(&self) -> Result<Record, Problem> {
        let path = self.path.join(RECORD);
        let failed = || Problem::new(format!("failed to read {}", path.display()));
        let bytes = std::fs::read(&path).map_err(|error| failed().because(error).fix("run `groundwork ingest DIR`"))?;
        let json: serde_json::Value = serde_json::from_slice(&bytes).map_err(|error| {
            failed().because(format!("the file is damaged: {error}")).fix(format!(
                "delete {} and run `groundwork ingest DIR` or `groundwork up DIR` once, which write it anew; the index \
                 beside it is kept",
                path.display()
            ))
        })?;
        let other_version = || {
            format!(
                "it was written by another version of groundwork: delete the data folder {} and ingest again",
                self.path.display()
            )
        };
        match json["layout"].as_u64() {
            Some(layout) if layout == u64::from(LAYOUT) => {}
            layout => {
                let layout = layout.map_or("missing".into(), |layout| layout.to_string());
                return Err(failed().because(format!("its layout is {layout}, not {LAYOUT}")).fix(other_version()));
            }
        }
        serde_json::from_value(json).map_err(|error| failed().because(error).fix(other_version()))
    }

    /// Refuses what holds the index of another folder: questions about that one would be asked of this one, and documents
    /// of a knowledge base with the same name would be taken for gone. A record that cannot be read is written anew.
    pub(crate) fn refuse_other(&self, folder: &Path) -> Result<(), Problem> {
        let Ok(record) = self.record() else { return Ok(()) };
        if record.folder == folder {
            return Ok(());
        }
        let (theirs, ours) = (record.folder.display(), folder.display());
        Err(Problem::new(format!("failed to use the data folder {} for {ours}", self.path.display()))
            .because(format!("it holds the index of {theirs}"))
            .fix(format!(
                "name another one with `--data-dir PATH` (GROUNDWORK_DATA_DIR), or leave it out; if {theirs} has moved to \
                 {ours}, delete {}: the index of each knowledge base that keeps its name is kept",
                self.path.join(RECORD).display()
            )))
    }

    /// Remembers, in one step: a reader sees the old record or the new one.
    pub(crate) fn write_record(&self, record: &Record) -> Result<(), Problem> {
        let path = self.path.join(RECORD);
        let temporary = self.path.join(format!("{RECORD}.new"));
        let json = serde_json::to_vec_pretty(record).expect("a record holds only strings, numbers and paths in UTF-8");
        std::fs::write(&temporary, json)
            .and_then(|()| std::fs::rename(&temporary, &path))
            .map_err(|error| Problem::new(format!("failed to write {}", path.display())).because(error))
    }
}

/// `$XDG_DATA_HOME/groundwork`, or the platform's like.
fn data_root() -> Result<PathBuf, Problem> {
    let base = dirs::data_dir().ok_or_else(|| {
        Problem::new("failed to find your data directory")
            .because("neither XDG_DATA_HOME nor HOME is set")
            .fix("name a data folder with `--data-dir PATH`")
    })?;
    Ok(base.join("groundwork"))
}

/// Name of a folder's data folder: the start of its path's SHA-256, so that any path fits and none collides.
fn folder_key(folder: &Path) -> String {
    let digest = Sha256::digest(folder.as_os_str().as_encoded_bytes());
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(unix)]
fn create_private(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(not(unix))]
fn create_private(path: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(path)
}

/// The folder a person named, absolute and without links: one folder has one name, and so one index.
pub(crate) fn canonical_folder(folder: &Path) -> Result<PathBuf, Problem> {
    let failed = || Problem::new(format!("failed to open the folder {}", folder.display()));
    let canonical = folder
        .canonicalize()
        .map_err(|error| failed().because(error).fix("name a folder that exists, or `.` for the one you are in"))?;
    if !canonical.is_dir() {
        let parent = canonical.parent().unwrap_or(Path::new(".")).display().to_string();
        return Err(failed().because("it is a file, not a folder").fix(format!("name its folder: {parent}")));
    }
    Ok(canonical)
}

#[cfg(test)]
mod tests {
    use super::*;
    use groundwork_config::{Pipeline, Policy, Retrieval};

    fn record(folder: &Path) -> Record {
        let pipeline =
            Pipeline { name: "main".into(), retrieval: Retrieval::default(), chat: None, temperature_milli: 0 };
        Record::new(
            folder,
            RuntimeConfig { knowledge_bases: Vec::new(), pipeline, endpoints: Vec::new(), policy: Policy::default() },
        )
    }

    #[test]
    fn a_record_reads_back_as_written() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let data = DataFolder::at(place.path().join("data"));
        data.create().expect("made");
        assert!(!data.is_used());
        data.write_record(&record(place.path())).expect("written");
        assert!(data.is_used());
        assert_eq!(data.record().expect("read"), record(place.path()));
    }

    #[test]
    fn the_index_of_another_folder_is_refused_and_can_be_taken_over_by_hand() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let (first, second) = (place.path().join("first"), place.path().join("second"));
        let data = DataFolder::at(place.path());
        data.refuse_other(&first).expect("nothing is in it yet");
        data.write_record(&record(&first)).expect("written");
        data.refuse_other(&first).expect("its own");
        let problem = data.refuse_other(&second).expect_err("another folder's");
        let text = format!("{problem:?}");
        assert!(text.contains("first") && text.contains("second") && text.contains("--data-dir"), "{text}");
        assert!(problem.fix_text().is_some_and(|fix| fix.contains(RECORD)), "{text}");
        std::fs::remove_file(place.path().join(RECORD)).expect("removed");
        data.refuse_other(&second).expect("taken over");
    }

    #[test]
    fn a_record_of_another_layout_is_refused_with_the_fix() {
        let place = tempfile::tempdir().expect("a temporary directory");
        std::fs::write(place.path().join(RECORD), r#"{"layout": 99, "shape": "unknown"}"#).expect("written");
        let problem = DataFolder::at(place.path()).record().expect_err("refused");
        assert!(problem.fix_text().is_some_and(|fix| fix.contains("ingest again")), "{problem:?}");
    }

    #[test]
    fn a_half_written_record_is_called_damaged_and_names_the_file() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let data = DataFolder::at(place.path());
        data.write_record(&record(place.path())).expect("written");
        let path = place.path().join(RECORD);
        let whole = std::fs::read(&path).expect("read");
        for length in [0, 1, whole.len() / 2, whole.len() - 1] {
            std::fs::write(&path, &whole[..length]).expect("cut");
            let problem = data.record().expect_err("refused");
            let fix = problem.fix_text().expect("a fix");
            assert!(fix.contains(RECORD) && fix.contains("ingest DIR") && !fix.contains("version"), "{length}: {fix}");
            assert!(format!("{problem:?}").contains("damaged"), "{length}: {problem:?}");
        }
    }

    #[test]
    fn a_file_is_not_a_folder() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let file = place.path().join("notes.md");
        std::fs::write(&file, "text").expect("written");
        let problem = canonical_folder(&file).expect_err("refused");
        assert!(format!("{problem:?}").contains("it is a file"), "{problem:?}");
        assert!(canonical_folder(&place.path().join("missing")).is_err());
    }

    #[test]
    fn folders_have_names_of_their_own() {
        assert_ne!(folder_key(Path::new("/a")), folder_key(Path::new("/b")));
        assert_eq!(folder_key(Path::new("/a")).len(), 32);
    }
}
