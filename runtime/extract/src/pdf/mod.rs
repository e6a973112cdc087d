//! PDF: text by page in reading order, with headings and tables where the layout shows them.

use pdf_oxide::PdfDocument;
use pdf_oxide::converters::ConversionOptions;
use pdf_oxide::error::Error;

use crate::{Begins, ExtractError, Extracted, Mark, one_line};

/// Pages that are read; more are noted.
const MAX_PAGES: usize = 5_000;

/// Extracts a document.
///
/// Pages follow each other as paragraphs, each with its mark; a page that cannot be read is noted. The title is the one
/// of the document's properties.
///
/// # Errors
/// Where the file is no PDF, needs a password, or has no text at all.
pub fn extract(bytes: Vec<u8>) -> Result<Extracted, ExtractError> {
    let document = PdfDocument::from_bytes(bytes).map_err(failure)?;
    if document.is_encrypted() && !document.is_authenticated() {
        return Err(ExtractError::PdfEncrypted);
    }
    let pages = document.page_count().map_err(failure)?;
    if pages == 0 {
        return Err(ExtractError::PdfBroken("it has no pages".into()));
    }
    let mut extracted = Extracted { title: title(&document), ..Extracted::default() };
    let mut last_error = None;
    for page in 0..pages.min(MAX_PAGES) {
        match document.to_markdown(page, &options()) {
            Ok(markdown) => push_page(&mut extracted, page, &markdown),
            Err(Error::EncryptedPdf) => return Err(ExtractError::PdfEncrypted),
            Err(error) => {
                extracted.notes.push(format!("page {} could not be read", page + 1));
                last_error = Some(error);
            }
        }
    }
    if pages > MAX_PAGES {
        extracted.notes.push(format!("only the first {MAX_PAGES} of {pages} pages were read"));
    }
    match last_error {
        _ if !extracted.markdown.is_empty() => Ok(extracted),
        Some(error) => Err(failure(error)),
        None => Err(ExtractError::PdfWithoutText),
    }
}

fn options() -> ConversionOptions {
    ConversionOptions {
        detect_headings: true,
        extract_tables: true,
        include_images: false,
        // Looking for lines that repeat reads all pages again for each page: 30 times the work at 36 pages.
        strip_running_headers_footers: false,
        expand_ligatures: true,
        include_artifacts: false,
        ..ConversionOptions::default()
    }
}

fn failure(error: Error) -> ExtractError {
    match error {
        Error::EncryptedPdf => ExtractError::PdfEncrypted,
        other => ExtractError::PdfBroken(one_line(&other.to_string())),
    }
}

fn push_page(extracted: &mut Extracted, page: usize, markdown: &str) {
    let text = tidy(markdown);
    if text.is_empty() {
        return;
    }
    if !extracted.markdown.is_empty() {
        extracted.markdown.push('\n');
    }
    let begins = Begins::Page(u32::try_from(page + 1).unwrap_or(u32::MAX));
    extracted.marks.push(Mark { offset: extracted.markdown.len(), begins });
    extracted.markdown.push_str(&text);
}

/// LF line ends, no control characters, no white space at line ends, at most one empty line, no emphasis marks, no link
/// targets; a sentence that the converter cut into paragraphs at the page's line ends is one again.
fn tidy(markdown: &str) -> String {
    let mut text = String::with_capacity(markdown.len());
    let mut is_apart = false;
    for line in markdown.replace("\r\n", "\n").replace('\r', "\n").lines() {
        let line: String = line.chars().filter(|c| *c == '\t' || !c.is_control()).collect();
        let line = without_targets(&without_emphasis(line.trim_end()));
        if line.is_empty() {
            is_apart = true;
            continue;
        }
        let before = text.trim_end().lines().next_back().unwrap_or_default();
        if is_apart && continues(before, &line) {
            text.truncate(text.trim_end().len());
            text.push(' ');
        } else if is_apart && !text.is_empty() {
            text.push('\n');
        }
        is_apart = false;
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// Whether a paragraph goes on with this line: it has not ended its sentence, and the line begins in lower case.
fn continues(before: &str, line: &str) -> bool {
    let is_text = !before.is_empty() && !before.starts_with(['#', '|', '>', '`']);
    is_text && !before.ends_with(['.', '!', '?', ':', ';', '|']) && line.starts_with(char::is_lowercase)
}

/// Takes out pairs of `**`, which the converter sets around bold words.
fn without_emphasis(line: &str) -> String {
    if line.matches("**").count().is_multiple_of(2) { line.replace("**", "") } else { line.to_owned() }
}

/// Replaces `[text](target)`, which the converter makes of link annotations, by its text.
fn without_targets(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("](") {
        let is_target = ["http://", "https://", "mailto:"].iter().any(|scheme| after.starts_with(scheme));
        match (before.rfind('['), after.split_once(')')) {
            (Some(open), Some((_, behind))) if is_target => {
                text.push_str(&before[..open]);
                text.push_str(&before[open + 1..]);
                rest = behind;
            }
            _ => {
                text.push_str(before);
                text.push_str("](");
                rest = after;
            }
        }
    }
    text + rest
}

/// The title in the document's information dictionary.
fn title(document: &PdfDocument) -> Option<String> {
    let trailer = document.trailer().as_dict()?;
    let information = document.resolve_object(trailer.get("Info")?).ok()?;
    let title = document.resolve_object(information.as_dict()?.get("Title")?).ok()?;
    let title = one_line(&text_string(title.as_string()?));
    Some(title).filter(|title| !title.is_empty())
}

/// A text string (ISO 32000-1, 7.9.2.2): UTF-16BE or UTF-8 by its mark, else PDFDocEncoding, which equals Latin-1 for
/// all letters of Western languages.
fn text_string(bytes: &[u8]) -> String {
    if let Some(utf16) = bytes.strip_prefix(b"\xFE\xFF") {
        let units = utf16.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
        return char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    }
    let utf8 = bytes.strip_prefix(b"\xEF\xBB\xBF").map(|utf8| String::from_utf8_lossy(utf8).into_owned());
    utf8.unwrap_or_else(|| bytes.iter().map(|byte| char::from(*byte)).collect())
}

#[cfg(test)]
mod tests;
