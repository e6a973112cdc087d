//! Counting of cl100k tokens by pieces, each looked up once.
//!
//! The vocabulary's own pre-tokenizer cuts a text into words, groups of three digits, punctuation and white space and
//! merges bytes within these pieces only, so that counts of pieces add up. Here the cuts are made by hand, long pieces
//! are cut further and Chinese, Japanese and Korean text is counted by characters: that bounds the work for each piece
//! and can only raise a sum.

use std::cell::RefCell;
use std::collections::HashMap;

/// Longest piece in bytes.
const LONGEST: usize = 64;
/// Most remembered pieces of a thread; the memory starts anew when it is full.
const REMEMBERED: usize = 1 << 16;

thread_local! {
    static COUNTS: RefCell<HashMap<Box<str>, u32>> = RefCell::new(HashMap::new());
}

/// Upper bound of the text's tokens.
pub(super) fn count(text: &str) -> u32 {
    pieces(text).fold(0, |sum, (_, tokens)| sum.saturating_add(tokens))
}

/// Length and tokens of the longest beginning of `text` of at most `budget` tokens, cut at a line end or a space where
/// there is one in its second half; at least one character. Looks no further than it reaches.
pub(super) fn fit(text: &str, budget: u32) -> (usize, u32) {
    let (mut end, mut line, mut space) = ((0, 0), (0, 0), (0, 0));
    for (piece, tokens) in pieces(text) {
        if piece.starts_with(char::is_whitespace) {
            space = end;
        }
        if end.1 + tokens > budget {
            let best = [line, space].into_iter().find(|cut| cut.0 > end.0 / 2).unwrap_or(end);
            let first = text.chars().next().map_or(0, char::len_utf8);
            return if best.0 > 0 { best } else { (first, count(&text[..first])) };
        }
        end = (end.0 + piece.len(), end.1 + tokens);
        if piece.ends_with('\n') {
            line = end;
        }
    }
    end
}

/// The pieces of a text, in order and without gaps, with their counts.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = (&str, u32)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let piece = (at < text.len()).then(|| &text[at..piece_end(text, at)])?;
        at += piece.len();
        Some((piece, tokens(piece)))
    })
}

fn tokens(piece: &str) -> u32 {
    COUNTS.with_borrow_mut(|counts| {
        if let Some(known) = counts.get(piece) {
            return *known;
        }
        let count = u32::try_from(tiktoken_rs::cl100k_base_singleton().count_ordinary(piece)).unwrap_or(u32::MAX);
        if counts.len() >= REMEMBERED {
            counts.clear();
        }
        counts.insert(piece.into(), count);
        count
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Letter,
    Wide,
    Digit,
    Line,
    Space,
    Other,
}

fn class(character: char) -> Class {
    match character {
        'a'..='z' | 'A'..='Z' => Class::Letter,
        '0'..='9' => Class::Digit,
        '\n' | '\r' => Class::Line,
        ' ' => Class::Space,
        '\0'..='\u{7f}' if !character.is_whitespace() => Class::Other,
        '\u{2e80}'.. => Class::Wide,
        _ if character.is_whitespace() => Class::Space,
        _ if character.is_alphabetic() => Class::Letter,
        _ if character.is_numeric() => Class::Digit,
        _ => Class::Other,
    }
}

fn class_at(text: &str, at: usize) -> Option<(Class, usize)> {
    text[at..].chars().next().map(|character| (class(character), character.len_utf8()))
}

/// End of the piece that begins at `at`, before the end of the text.
fn piece_end(text: &str, at: usize) -> usize {
    let Some((first, length)) = class_at(text, at) else { return at };
    let next = class_at(text, at + length).map(|(next, _)| next);
    match (first, next) {
        (Class::Wide, _) => at + length,
        (Class::Letter, _) | (Class::Space | Class::Other, Some(Class::Letter)) => {
            run_end(text, at, at + length, Class::Letter, LONGEST)
        }
        (Class::Digit, _) => digits_end(text, at),
        (Class::Other, _) | (Class::Space, Some(Class::Other)) => {
            let end = run_end(text, at, at + length, Class::Other, LONGEST);
            run_end(text, at, end, Class::Line, LONGEST)
        }
        (Class::Line | Class::Space, _) => white_end(text, at),
    }
}

fn run_end(text: &str, start: usize, mut at: usize, wanted: Class, longest: usize) -> usize {
    while at - start < longest {
        match class_at(text, at) {
            Some((class, length)) if class == wanted => at += length,
            _ => break,
        }
    }
    at
}

fn digits_end(text: &str, at: usize) -> usize {
    let digits = text[at..].chars().take(3).take_while(|character| class(*character) == Class::Digit);
    at + digits.map(char::len_utf8).sum::<usize>()
}

/// White space up to its last line end, or all but the last space before a word.
fn white_end(text: &str, start: usize) -> usize {
    let (mut at, mut line, mut last) = (start, None, start);
    while at - start < LONGEST {
        match class_at(text, at) {
            Some((class @ (Class::Line | Class::Space), length)) => {
                last = at;
                at += length;
                if class == Class::Line {
                    line = Some(at);
                }
            }
            Some(_) if line.is_none() && last > start => return last,
            _ => break,
        }
    }
    line.unwrap_or(at)
}
