//! Bytes to text: UTF-8 with LF and without byte order mark, nothing else changed.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use super::LoadError;

/// Bytes from the first non-ASCII byte on that the guess looks at: enough for any language, and it bounds the time.
const GUESS_BYTES: usize = 1 << 20;

/// Decodes a text file.
///
/// A byte order mark decides; else valid UTF-8 is UTF-8; else the encoding is guessed, and the guess counts only if the
/// result reads like text.
pub(super) fn decode(bytes: &[u8]) -> Result<String, LoadError> {
    match Encoding::for_bom(bytes) {
        Some((encoding, length)) => decode_exactly(encoding, &bytes[length..]),
        None => decode_without_mark(bytes, None),
    }
    .map(with_line_feeds)
}

/// Decodes an HTML file: as [`decode`], but an encoding that the page declares is tried before guessing.
pub(super) fn decode_html(bytes: &[u8]) -> Result<String, LoadError> {
    match Encoding::for_bom(bytes) {
        Some((encoding, length)) => decode_exactly(encoding, &bytes[length..]),
        None => decode_without_mark(bytes, declared_encoding(bytes)),
    }
    .map(with_line_feeds)
}

fn decode_exactly(encoding: &'static Encoding, bytes: &[u8]) -> Result<String, LoadError> {
    encoding
        .decode_without_bom_handling_and_without_replacement(bytes)
        .map(|text| text.into_owned())
        .ok_or(LoadError::BrokenEncoding { encoding: encoding.name() })
}

fn decode_without_mark(bytes: &[u8], declared: Option<&'static Encoding>) -> Result<String, LoadError> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return if text.contains('\0') { Err(LoadError::Encoding) } else { Ok(text.to_owned()) };
    }
    let encoding = declared.unwrap_or_else(|| guess(bytes));
    encoding
        .decode_without_bom_handling_and_without_replacement(bytes)
        .filter(|text| reads_like_text(text))
        .map(|text| text.into_owned())
        .ok_or(LoadError::Encoding)
}

fn guess(bytes: &[u8]) -> &'static Encoding {
    let first = Encoding::ascii_valid_up_to(bytes).saturating_sub(2);
    let end = bytes.len().min(first + GUESS_BYTES);
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(&bytes[first..end], end == bytes.len());
    detector.guess(None, Utf8Detection::Deny)
}

/// At most one character in 200 may be a control, a private use or a replacement character: a wrong guess of a
/// single-byte encoding shows there, since the undefined bytes decode to C1 controls.
fn reads_like_text(text: &str) -> bool {
    let odd = text.chars().filter(|c| is_odd(*c)).count();
    !text.contains('\0') && odd * 200 <= text.chars().count()
}

fn is_odd(c: char) -> bool {
    matches!(c, '\u{1}'..='\u{8}' | '\u{E}'..='\u{1A}' | '\u{1C}'..='\u{1F}' | '\u{7F}'..='\u{9F}')
        || matches!(c, '\u{E000}'..='\u{F8FF}' | '\u{FFFD}' | '\u{F0000}'..)
}

/// The label after `charset=` in the first KiB, as in HTML's encoding sniffing; UTF-8 and UTF-16 labels do not count,
/// since bytes that are not UTF-8 contradict them.
fn declared_encoding(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = bytes[..bytes.len().min(1024)].to_ascii_lowercase();
    let position = head.windows(8).position(|window| window == b"charset=")? + 8;
    let label: Vec<u8> = head[position..]
        .iter()
        .copied()
        .skip_while(|byte| matches!(byte, b'"' | b'\'' | b' '))
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':' | b'.'))
        .collect();
    Encoding::for_label(&label).filter(|encoding| ![UTF_8, UTF_16LE, UTF_16BE].contains(encoding))
}

fn with_line_feeds(text: String) -> String {
    if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n") } else { text }
}
