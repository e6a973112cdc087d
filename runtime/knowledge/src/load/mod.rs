//! From bytes to a [`NormalisedDocument`]: format detection, decoding, front matter, and extraction in child processes.
//!
//! Text formats are read here; PDF, DOCX, XLSX and HTML are handed to an [`ExtractionPool`], so that a hostile file can
//! at worst end a child process.

mod decode;
mod detect;
pub mod extraction;
mod front_matter;

pub use detect::{Detection, SkipReason, detect_format, skipped_directory};
pub use extraction::{ExtractionOptions, ExtractionPool};

use groundwork_config::MetadataKeys;
use std::io::Read;

use crate::document::{Format, Metadata, NormalisedDocument};

/// Largest file that is read, in bytes (20 MiB).
pub const MAX_FILE_BYTES: u64 = 20 << 20;

/// Bytes at the start of a file that [`detect_format`] wants to see; fewer where the file is shorter.
pub const HEAD_BYTES: usize = 8 << 10;

/// What a [`Loader`] needs.
#[derive(Clone, Debug)]
pub struct LoaderOptions {
    /// Front matter keys of title, date and tags.
    pub metadata: MetadataKeys,
    /// Where PDF, DOCX, XLSX and HTML are extracted; without it they fail.
    pub extraction: Option<ExtractionPool>,
}

/// Turns files into normalised documents. Cheap to clone; clones share the extraction processes.
#[derive(Clone, Debug)]
pub struct Loader {
    options: LoaderOptions,
}

impl Loader {
    /// A loader with these options.
    pub fn new(options: LoaderOptions) -> Self {
        Self { options }
    }

    /// Loads one file. `path` is relative to its source and decides, with the first bytes, what the file is.
    ///
    /// # Errors
    /// Every reason is about this file alone: the next one can be loaded.
    pub async fn load(&self, path: &str, bytes: Vec<u8>) -> Result<NormalisedDocument, LoadError> {
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(LoadError::TooLarge);
        }
        if bytes.is_empty() {
            return Err(LoadError::Empty);
        }
        match detect_format(path, &bytes[..bytes.len().min(HEAD_BYTES)]) {
            Detection::Skip(reason) => Err(LoadError::Skipped(reason)),
            Detection::Format(format @ (Format::Html | Format::Pdf | Format::Docx | Format::Xlsx)) => {
                self.extract(format, bytes).await
            }
            Detection::Format(format) => self.read_text(format, &bytes),
        }
    }

    fn read_text(&self, format: Format, bytes: &[u8]) -> Result<NormalisedDocument, LoadError> {
        let body = decode::decode(bytes)?;
        if body.trim().is_empty() {
            return Err(LoadError::Empty);
        }
        let found = if format == Format::Markdown {
            front_matter::read(&body, &self.options.metadata)
        } else {
            front_matter::FrontMatter::default()
        };
        Ok(NormalisedDocument {
            body,
            format,
            front_matter: found.range,
            title: found.title,
            metadata: found.metadata,
            marks: Vec::new(),
            notes: found.note.into_iter().collect(),
        })
    }

    async fn extract(&self, format: Format, bytes: Vec<u8>) -> Result<NormalisedDocument, LoadError> {
        let pool = self.options.extraction.as_ref().ok_or(LoadError::NoExtraction)?;
        // HTML is text: it is decoded here, where the decoder is, and arrives in the child as UTF-8.
        let payload = if format == Format::Html { decode::decode_html(&bytes)?.into_bytes() } else { bytes };
        let extracted = pool.extract(format, payload).await?;
        if extracted.markdown.trim().is_empty() {
            return Err(LoadError::NoText);
        }
        Ok(NormalisedDocument {
            body: extracted.markdown,
            format,
            front_matter: None,
            title: extracted.title,
            metadata: Metadata::default(),
            marks: extracted.marks,
            notes: extracted.notes,
        })
    }
}

/// Reads a file that may be larger than is allowed: at most one byte beyond [`MAX_FILE_BYTES`].
///
/// # Errors
/// [`LoadError::TooLarge`] without reading the rest, [`LoadError::Read`] where reading fails.
pub fn read_bounded(reader: impl Read) -> Result<Vec<u8>, LoadError> {
    let mut bytes = Vec::new();
    reader.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(LoadError::Read)?;
    if bytes.len() as u64 > MAX_FILE_BYTES { Err(LoadError::TooLarge) } else { Ok(bytes) }
}

/// Why a file did not become a document: a short reason for people, without its path.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// No bytes, or nothing but white space.
    #[error("the file is empty")]
    Empty,
    /// More than [`MAX_FILE_BYTES`].
    #[error("the file is larger than 20 MB")]
    TooLarge,
    /// It is not a document at all.
    #[error("not read: {0}")]
    Skipped(SkipReason),
    /// The operating system refused to read it.
    #[error("failed to read the file: {0}")]
    Read(#[source] std::io::Error),
    /// Not UTF-8, no byte order mark, and no encoding in which it makes sense.
    #[error("the text's encoding is not recognised; save it as UTF-8")]
    Encoding,
    /// A byte order mark whose encoding does not hold.
    #[error("the text is not valid {encoding} although its byte order mark says so; save it as UTF-8")]
    BrokenEncoding {
        /// Name of the encoding.
        encoding: &'static str,
    },
    /// The extracted document has no text.
    #[error("the file has no text")]
    NoText,
    /// The format needs a pool and the loader has none.
    #[error("this format needs extraction processes, and they are switched off")]
    NoExtraction,
    /// The extractor understood the request and says why the file cannot be read.
    #[error("{0}")]
    Refused(String),
    /// The extraction process died on this file.
    #[error("the extraction process ended while reading the file ({0})")]
    Died(String),
    /// The extraction process asked for more memory than it may have.
    #[error("extraction needs more than {limit_mib} MB of memory")]
    OutOfMemory {
        /// The limit in MiB.
        limit_mib: u64,
    },
    /// The extraction process took too long and was ended.
    #[error("extraction took longer than {seconds} s")]
    TimedOut {
        /// The limit in seconds.
        seconds: u64,
    },
    /// The extraction process sent something that is no answer.
    #[error("the extraction process gave an answer that cannot be read ({0})")]
    Protocol(String),
    /// No extraction process could be started.
    #[error("failed to start an extraction process: {0}")]
    Start(#[source] std::io::Error),
}

#[cfg(test)]
mod tests;
