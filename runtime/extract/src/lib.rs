//! PDF, DOCX, XLSX and HTML to Markdown. Heavy and fed with hostile bytes: runs only in child processes.
//!
//! Every function is pure: equal bytes give equal Markdown, with LF line ends. Text is taken over verbatim: emphasis and
//! link targets are dropped rather than written as marks between the words, so that a quotation of the Markdown is a
//! quotation of the document. What changes any output raises `EXTRACTOR_VERSION` in `groundwork-config`.

mod archive;
mod docx;
mod html;
mod markdown;
mod pdf;
mod xlsx;

pub use docx::extract as docx;
pub use html::extract as html;
pub use pdf::extract as pdf;
pub use xlsx::extract as xlsx;

/// What a file says, as Markdown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extracted {
    /// The text; ends with a line feed unless it is empty.
    pub markdown: String,
    /// The file format's own title, one line.
    pub title: Option<String>,
    /// Where pages and rows begin in `markdown`, ascending.
    pub marks: Vec<Mark>,
    /// What was left out, for people.
    pub notes: Vec<String>,
}

/// A point in the Markdown from which on another part of the original is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Byte offset in the Markdown.
    pub offset: usize,
    /// What begins there.
    pub begins: Begins,
}

/// What can begin at a [`Mark`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begins {
    /// A PDF page, from 1.
    Page(u32),
    /// A sheet's row, from 1.
    Row {
        /// Name of the sheet.
        sheet: String,
        /// The row.
        row: u32,
    },
}

/// Why a file has no Markdown: a short reason for people, without its path.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExtractError {
    /// A PDF that needs a password.
    #[error("the PDF is encrypted")]
    PdfEncrypted,
    /// A PDF whose pages have no text.
    #[error("the PDF has no text layer (scanned pages?)")]
    PdfWithoutText,
    /// A PDF that cannot be parsed.
    #[error("the PDF is broken: {0}")]
    PdfBroken(String),
    /// A DOCX or XLSX that is no archive.
    #[error("the file is not a valid {format} file: {reason}")]
    NotAnArchive {
        /// DOCX or XLSX.
        format: &'static str,
        /// What the archive's reader says.
        reason: String,
    },
    /// A DOCX or XLSX with a password: such files are encrypted containers and no archives.
    #[error("the {format} file is encrypted")]
    Encrypted {
        /// DOCX or XLSX.
        format: &'static str,
    },
    /// An archive without a part that its format demands.
    #[error("the {format} file has no {part}")]
    MissingPart {
        /// DOCX or XLSX.
        format: &'static str,
        /// Name of the part.
        part: &'static str,
    },
    /// A zip bomb.
    #[error("the archive expands to more than {} MB", archive::MAX_INFLATED >> 20)]
    TooLargeInside,
    /// XML that cannot be read.
    #[error("the file's {part} is broken: {reason}")]
    BrokenPart {
        /// Name of the part.
        part: String,
        /// What the parser says.
        reason: String,
    },
    /// A document type declaration, which these formats forbid and which entity bombs need.
    #[error("the file's {part} declares XML entities")]
    Entities {
        /// Name of the part.
        part: String,
    },
}

/// One line: runs of white space become a space; soft hyphens and control characters go.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace(|c: char| c.is_control() || c == '\u{AD}', "")
}
