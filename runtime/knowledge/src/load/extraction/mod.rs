//! Extraction in child processes: the frames between parent and child, the [`ExtractionPool`] that owns the children,
//! and [`serve`], the loop inside a child.
//!
//! A frame is the length of its header (4 bytes, little endian), the header (JSON), and the payload whose length the
//! header tells. Both directions have limits; the parent believes nothing that a child sends.

mod child;
mod pool;
mod serve;

pub use pool::{ExtractionOptions, ExtractionPool};
pub use serve::serve;

use serde::{Deserialize, Serialize};

use crate::document::{Begins, Format, Mark};

/// Largest header of a frame, in bytes.
const MAX_HEADER: u32 = 64 << 20;
/// Largest Markdown that a child may send, in bytes.
const MAX_MARKDOWN: u64 = 64 << 20;
/// Longest title, reason or note that is taken over, in characters.
const MAX_SHORT_TEXT: usize = 500;
/// Notes that are taken over.
const MAX_NOTES: usize = 20;

/// What extraction makes of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extraction {
    /// Generated Markdown with LF line ends.
    pub markdown: String,
    /// The file format's own title, if it has one.
    pub title: Option<String>,
    /// Where pages and rows begin, ascending.
    pub marks: Vec<Mark>,
    /// What could not be taken over.
    pub notes: Vec<String>,
}

/// Header of a job; the payload is the file.
#[derive(Debug, Serialize, Deserialize)]
struct Job {
    format: Format,
    payload_bytes: u64,
}

/// Header of an answer; the payload is the Markdown, empty for a refusal.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
enum Answer {
    Extracted { payload_bytes: u64, title: Option<String>, marks: Vec<Mark>, notes: Vec<String> },
    Refused { reason: String },
}

/// Checks what a child sent, and shortens what may be shortened.
fn accept(
    title: Option<String>,
    marks: Vec<Mark>,
    notes: Vec<String>,
    markdown: Vec<u8>,
) -> Result<Extraction, String> {
    let markdown = String::from_utf8(markdown).map_err(|_| "its text is not UTF-8".to_owned())?;
    if markdown.contains(['\r', '\0']) {
        return Err("its text has carriage returns or NUL characters".into());
    }
    let ascending = marks.is_sorted_by_key(|mark| mark.offset);
    let inside = marks.iter().all(|mark| markdown.is_char_boundary(mark.offset) && numbered(&mark.begins));
    if !ascending || !inside {
        return Err("its marks do not fit its text".into());
    }
    let title = title.map(|title| short(&title)).filter(|title| !title.is_empty());
    let notes = notes.iter().take(MAX_NOTES).map(|note| short(note)).collect();
    Ok(Extraction { markdown, title, marks, notes })
}

fn numbered(begins: &Begins) -> bool {
    match begins {
        Begins::Page(page) => *page > 0,
        Begins::Row { row, .. } => *row > 0,
    }
}

/// One line of at most [`MAX_SHORT_TEXT`] characters without control characters.
fn short(text: &str) -> String {
    let printable: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    printable.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_SHORT_TEXT).collect()
}

#[cfg(test)]
mod tests;
