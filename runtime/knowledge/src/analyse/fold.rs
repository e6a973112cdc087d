//! Folding of a stretch of text: NFKC, lower case, invisible characters dropped.

use std::ops::Range;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

use super::character::{Class, class_at, is_ignorable};

/// Appends the folded text. Final sigma becomes sigma, so that upper and lower case agree.
pub(super) fn fold_into(text: &str, out: &mut String) {
    if text.is_ascii() {
        out.extend(text.bytes().map(|byte| byte.to_ascii_lowercase() as char));
    } else if is_nfkc_quick(text.chars()) == IsNormalized::Yes {
        lower_into(text.chars(), out);
    } else {
        lower_into(text.nfkc(), out);
    }
}

/// The folded text.
pub(super) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut out = String::with_capacity(text.len());
    fold_into(text, &mut out);
    out
}

fn lower_into(characters: impl Iterator<Item = char>, out: &mut String) {
    for character in characters.filter(|character| !is_ignorable(*character)) {
        match character {
            '\u{2018}' | '\u{2019}' => out.push('\''),
            'ς' => out.push('σ'),
            _ => out.extend(character.to_lowercase()),
        }
    }
}

/// Overlapping bigrams of the stretch `span` with their bytes of `text`; a character alone is itself.
pub(super) fn bigrams(text: &str, span: Range<usize>, mut emit: impl FnMut(String, Range<usize>)) {
    let mut first = span.start..character_end(text, span.start, span.end);
    if first.end == span.end {
        emit(fold(&text[first.clone()]), first);
        return;
    }
    while first.end < span.end {
        let second = first.end..character_end(text, first.end, span.end);
        emit(fold(&text[first.start..second.end]), first.start..second.end);
        first = second;
    }
}

/// End of the character at `at` with its marks.
fn character_end(text: &str, at: usize, limit: usize) -> usize {
    let mut end = at + class_at(text, at).1;
    while end < limit {
        match class_at(text, end) {
            (Class::Mark, length) => end += length,
            _ => break,
        }
    }
    end
}
