//! From a listed file to what the store is told about it.

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use tokio::task::{JoinError, spawn_blocking};
use tokio_util::task::AbortOnDropHandle;

use super::plan::Work;
use crate::chunk::{ChunkedDocument, Chunker};
use crate::document::NormalisedDocument;
use crate::identity::TextHash;
use crate::load::{LoadError, Loader, read_bounded};
use crate::source::{Origin, stamp_of};
use crate::store::{DocumentFailure, DocumentWrite, FileStamp};

/// Times a file that changes while it is read is read again.
const READ_TRIES: u32 = 3;

/// What became of a document.
pub(super) struct Prepared {
    pub(super) work: Work,
    pub(super) outcome: Outcome,
}

pub(super) enum Outcome {
    /// Its bytes are those that the store knows; the stamp may be new.
    Same(Option<FileStamp>),
    /// To be written.
    Write(Box<DocumentWrite>),
    /// It cannot be read.
    Failed(DocumentFailure, Retry),
    /// It is gone since it was listed.
    Vanished,
}

/// When a failed document is tried again although its file is as before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Retry {
    /// Never: the bytes decide it.
    Never,
    /// By the next process: this file in this state.
    NextProcess(FileStamp),
    /// By the next sync.
    NextSync,
}

/// What preparing needs.
#[derive(Clone)]
pub(super) struct Tools {
    pub(super) loader: Loader,
    pub(super) chunker: Arc<Chunker>,
}

struct Bytes {
    bytes: Vec<u8>,
    stamp: Option<FileStamp>,
}

enum Trouble {
    Load(LoadError),
    Changing,
    Internal(JoinError),
}

/// Reads, loads and cuts one document.
pub(super) async fn prepare(work: Work, tools: Tools) -> Prepared {
    let mut read = None;
    let outcome = match attempt(&work, &tools, &mut read).await {
        Ok(outcome) => outcome,
        Err(Trouble::Load(LoadError::Read(error))) if error.kind() == ErrorKind::NotFound => Outcome::Vanished,
        Err(trouble) => failed(&work, read, &trouble),
    };
    Prepared { work, outcome }
}

async fn attempt(
    work: &Work,
    tools: &Tools,
    read: &mut Option<(TextHash, Option<FileStamp>)>,
) -> Result<Outcome, Trouble> {
    let origin = work.file.origin.clone();
    let Bytes { bytes, stamp } = spawn_blocking(move || bytes_of(origin)).await.map_err(Trouble::Internal)??;
    let content = TextHash::of_bytes(&bytes);
    *read = Some((content, stamp.clone()));
    if work.is_known_as(content) {
        return Ok(Outcome::Same(stamp));
    }
    let document = load(tools.loader.clone(), work.file.path.clone(), bytes).await?;
    let (document, chunked) = cut(document, work.file.path.clone(), Arc::clone(&tools.chunker)).await?;
    let (source, path) = (work.source.clone(), work.file.path.clone());
    Ok(Outcome::Write(Box::new(DocumentWrite { id: work.id, source, path, stamp, content, document, chunked })))
}

/// In a task of its own, so that a panic is the failure of one document.
async fn load(loader: Loader, path: String, bytes: Vec<u8>) -> Result<NormalisedDocument, Trouble> {
    let task = tokio::spawn(async move { loader.load(&path, bytes).await });
    Ok(AbortOnDropHandle::new(task).await.map_err(Trouble::Internal)??)
}

async fn cut(
    document: NormalisedDocument,
    path: String,
    chunker: Arc<Chunker>,
) -> Result<(NormalisedDocument, ChunkedDocument), Trouble> {
    let cut = spawn_blocking(move || {
        let chunked = chunker.chunk(&path, &document);
        (document, chunked)
    });
    cut.await.map_err(Trouble::Internal)
}

impl Work {
    /// Whether the store has nothing to learn from these bytes. Failures that may pass are recorded with the hash of
    /// nothing, which proves nothing.
    fn is_known_as(&self, content: TextHash) -> bool {
        let known = self.known.as_ref().filter(|known| known.content == content);
        known.is_some_and(|known| known.failure.is_none() || content != TextHash::of_bytes(&[]))
    }
}

fn bytes_of(origin: Origin) -> Result<Bytes, Trouble> {
    match origin {
        Origin::Inline(text) => Ok(Bytes { bytes: text.into_bytes(), stamp: None }),
        Origin::File(path) => {
            (0..READ_TRIES).find_map(|_| read_unchanging(&path).transpose()).unwrap_or(Err(Trouble::Changing))
        }
    }
}

/// The bytes of a file with the stamp that it had before and after; `None` if it changed meanwhile.
fn read_unchanging(path: &Path) -> Result<Option<Bytes>, Trouble> {
    let stamp = |file: &File| file.metadata().map(|metadata| stamp_of(&metadata)).map_err(LoadError::Read);
    let file = File::open(path).map_err(LoadError::Read)?;
    let before = stamp(&file)?;
    let bytes = read_bounded(&file)?;
    let unchanged = before == stamp(&file)? && before.size == bytes.len() as u64;
    Ok(unchanged.then_some(Bytes { bytes, stamp: Some(before) }))
}

fn failed(work: &Work, read: Option<(TextHash, Option<FileStamp>)>, trouble: &Trouble) -> Outcome {
    let (content, stamp) = read.unzip();
    let stamp = stamp.flatten().or_else(|| work.file.stamp.clone());
    let retry = trouble.retry(stamp.as_ref());
    let failure = DocumentFailure {
        id: work.id,
        source: work.source.clone(),
        path: work.file.path.clone(),
        stamp: stamp.filter(|_| retry == Retry::Never),
        content: content.filter(|_| retry == Retry::Never).unwrap_or_else(|| TextHash::of_bytes(&[])),
        reason: trouble.reason(),
    };
    Outcome::Failed(failure, retry)
}

impl Trouble {
    fn reason(&self) -> String {
        match self {
            Self::Load(error) => error.to_string(),
            Self::Changing => "the file kept changing while it was read; the next sync tries again".to_owned(),
            Self::Internal(error) => format!("reading this file hit an internal error ({error}); please report it"),
        }
    }

    fn retry(&self, stamp: Option<&FileStamp>) -> Retry {
        match self {
            Self::Changing | Self::Load(LoadError::Read(_) | LoadError::Start(_) | LoadError::NoExtraction) => {
                Retry::NextSync
            }
            Self::Internal(_)
            | Self::Load(
                LoadError::Died(_)
                | LoadError::OutOfMemory { .. }
                | LoadError::TimedOut { .. }
                | LoadError::Protocol(_),
            ) => stamp.map_or(Retry::NextSync, |stamp| Retry::NextProcess(stamp.clone())),
            Self::Load(_) => Retry::Never,
        }
    }
}

impl From<LoadError> for Trouble {
    fn from(error: LoadError) -> Self {
        Self::Load(error)
    }
}
