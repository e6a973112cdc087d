//! Cuts a text into runs: words, and stretches of scripts without spaces.

use std::ops::Range;

use super::character::{Class, class_at, plain_at};

/// Longest run in bytes. Longer ones (encoded binary data) are cut, as Lucene's tokenizer does.
const LONGEST_RUN: usize = 255;

/// A stretch of word characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// Bytes of the text, without a possessive `'s`.
    pub(super) span: Range<usize>,
    /// Where scanning goes on.
    pub(super) end: usize,
    /// What it is made of.
    pub(super) shape: Shape,
}

/// What a run is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Shape {
    /// Has letters that are not upper case.
    pub(super) lower: bool,
    /// Has upper-case letters.
    pub(super) upper: bool,
    /// Has digits.
    pub(super) digit: bool,
    /// A letter meets a digit, or the case changes other than after a first capital.
    pub(super) mixed: bool,
    /// Digits grouped by commas (`1,000,000`).
    pub(super) grouped: bool,
}

impl Shape {
    /// Digits and nothing else.
    pub(super) fn is_number(self) -> bool {
        self.digit && !self.lower && !self.upper
    }
}

/// A piece of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Letters and digits.
    Word(Run),
    /// Bytes of a stretch to be cut into bigrams.
    Wide(Range<usize>),
}

/// What holds a run together beside letters and digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joining {
    /// An apostrophe between letters, and commas that group digits: identifiers are put together later.
    Words {
        /// Whether an apostrophe between letters belongs to the word (English) or ends it (elisions elsewhere).
        apostrophes: bool,
    },
    /// What the word break rules of Unicode Annex 29 join: `'` and `.` between letters, `.`, `,`, `;` between digits,
    /// `_` anywhere.
    Annex29,
}

/// The next piece at or after `at`.
pub(super) fn next_piece(text: &str, mut at: usize, joining: Joining) -> Option<Piece> {
    while at < text.len() {
        match class_at(text, at) {
            (Class::Wide, _) => return Some(Piece::Wide(at..wide_end(text, at))),
            (class, _) if class.begins_word() => return Some(Piece::Word(run_at(text, at, joining))),
            (_, length) => at += length,
        }
    }
    None
}

fn wide_end(text: &str, mut at: usize) -> usize {
    loop {
        match class_at(text, at) {
            (Class::Wide | Class::Mark, length) => at += length,
            _ => return at,
        }
    }
}

/// The run that begins at `start`, where a word character stands.
pub(super) fn run_at(text: &str, start: usize, joining: Joining) -> Run {
    let mut run = Run { span: start..start, end: start, shape: Shape::default() };
    let mut before = (Class::Separator, Class::Separator);
    let mut at = start;
    while at - start < LONGEST_RUN {
        let (class, length) = class_at(text, at);
        if class.in_word() {
            run.shape.note(before, class);
            if class != Class::Mark {
                before = (before.1, class);
            }
            at += length;
        } else if let Some(length) = joint(text, at, before.1, joining, &mut run.shape) {
            before = (Class::Separator, Class::Separator);
            at += length;
        } else {
            break;
        }
    }
    run.span.end = at;
    run.end = at + possessive(text, at);
    run
}

impl Shape {
    fn note(&mut self, (second, last): (Class, Class), class: Class) {
        match class {
            Class::Lower => {
                self.mixed |= last == Class::Digit || (last == Class::Upper && second == Class::Upper);
                self.lower = true;
            }
            Class::Upper => {
                self.mixed |= matches!(last, Class::Digit | Class::Lower);
                self.upper = true;
            }
            Class::Digit => {
                self.mixed |= matches!(last, Class::Lower | Class::Upper);
                self.digit = true;
            }
            Class::Mark | Class::Wide | Class::Separator => {}
        }
    }
}

/// Length of the character at `at` if it joins the run before it to what follows.
fn joint(text: &str, at: usize, last: Class, joining: Joining, shape: &mut Shape) -> Option<usize> {
    let length = text[at..].chars().next()?.len_utf8();
    let next = class_at(text, at + length).0;
    let letters = matches!(last, Class::Lower | Class::Upper) && matches!(next, Class::Lower | Class::Upper);
    let digits = last == Class::Digit && next == Class::Digit;
    let character = plain_at(text, at);
    let joins = match (character, joining) {
        ('\'', Joining::Words { apostrophes }) => apostrophes && letters && possessive(text, at) == 0,
        ('\'', Joining::Annex29) => letters && possessive(text, at) == 0,
        (',', Joining::Words { .. }) => {
            let groups = digits && shape.is_number() && !shape.mixed && groups_digits(text, at);
            shape.grouped |= groups;
            groups
        }
        ('.', Joining::Annex29) => letters || digits,
        (',' | ';', Joining::Annex29) => digits,
        ('_', Joining::Annex29) => {
            next.begins_word() || class_at(text, at + length).1 == 1 && plain_at(text, at + length) == '_'
        }
        _ => false,
    };
    joins.then_some(length)
}

/// Whether the comma at `at` is followed by exactly three digits and has one to three digits before it.
fn groups_digits(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    let after = bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let before = bytes[..at].iter().rev().take(4).take_while(|byte| byte.is_ascii_digit()).count();
    after == 3 && (1..=3).contains(&before)
}

/// Length of an English possessive `'s` that ends the word at `at`, or 0.
fn possessive(text: &str, at: usize) -> usize {
    if at >= text.len() || plain_at(text, at) != '\'' {
        return 0;
    }
    let letter = at + text[at..].chars().next().map_or(0, char::len_utf8);
    let ends = matches!(plain_at(text, letter), 's' | 'S') && !class_at(text, letter + 1).0.in_word();
    if ends { letter + 1 - at } else { 0 }
}
