//! Identifiers: which neighbouring runs belong together, their parts, and their joined spelling.

use std::ops::Range;

use super::character::{Class, class_at, plain_at};
use super::fold::fold_into;
use super::scan::{Joining, Run, run_at};

/// Longest joined spelling in bytes.
const LONGEST_JOINED: usize = 64;
/// Most runs put together; the rest of a longer chain begins a new compound.
const MOST_RUNS: usize = 16;
/// Most parts of one run; more of them are a hash or encoded data, whose pieces mean nothing.
const MOST_PARTS: usize = 6;

/// Runs that one `-`, `_` or `.` each holds together, such as `max_retry_count` or `AX-3000`.
#[derive(Default)]
pub(super) struct Compound {
    pub(super) runs: Vec<Run>,
    /// The character before each run but the first.
    connectors: Vec<char>,
    /// A command line option: two hyphens stand before it.
    option: bool,
}

impl Compound {
    /// Replaces the content by the compound that begins with `first`; returns where scanning goes on.
    pub(super) fn read(&mut self, text: &str, first: Run, joining: Joining) -> usize {
        self.runs.clear();
        self.connectors.clear();
        self.option = text[..first.span.start].ends_with("--");
        let mut end = first.end;
        let mut joinable = first.end == first.span.end;
        self.runs.push(first);
        while joinable && self.runs.len() < MOST_RUNS {
            let Some((connector, start)) = connector_at(text, end) else { break };
            let run = run_at(text, start, joining);
            joinable = run.end == run.span.end;
            end = run.end;
            self.connectors.push(connector);
            self.runs.push(run);
        }
        end
    }

    /// Bytes of the whole.
    pub(super) fn span(&self) -> Range<usize> {
        self.runs[0].span.start..self.runs[self.runs.len() - 1].span.end
    }

    /// `U.S.` and `e.g.`: single letters with dots.
    pub(super) fn is_abbreviation(&self, text: &str) -> bool {
        self.runs.len() > 1
            && self.connectors.iter().all(|connector| *connector == '.')
            && self.runs.iter().all(|run| !run.shape.digit && text[run.span.clone()].chars().count() == 1)
    }

    /// Whether the joined spelling of several runs is worth a token: it has an underscore or a dot, a run of mixed
    /// case or of letters and digits, or it is a code such as `AX-3000`; but `well-known`, `5-year` and `10-20` are not.
    pub(super) fn is_identifier(&self) -> bool {
        let written = self.option || self.connectors.iter().any(|connector| *connector != '-');
        let mixed = self.runs.iter().any(|run| run.shape.mixed);
        self.runs.len() > 1 && (written || mixed || self.is_code())
    }

    fn is_code(&self) -> bool {
        let numbers = self.runs.iter().filter(|run| run.shape.is_number()).count();
        if numbers == self.runs.len() {
            // Dates, telephone numbers, ISBN; two numbers are a range.
            return numbers > 2;
        }
        let words = self.runs.iter().all(|run| run.shape.is_number() || is_plain_word(run, 3));
        let numbered =
            self.runs.iter().all(|run| if run.shape.is_number() { run.span.len() <= 2 } else { is_plain_word(run, 4) });
        numbers > 0 && !numbered && !(words && self.runs[0].shape.is_number())
    }

    /// The spelling without connectors and in folded case; dots between numbers stay, a `v` before a version goes.
    pub(super) fn joined(&self, text: &str) -> Option<String> {
        if self.span().len() > 2 * LONGEST_JOINED {
            return None;
        }
        let mut joined = String::with_capacity(self.span().len());
        for (index, run) in self.runs.iter().enumerate() {
            let dotted = index > 0 && self.connectors[index - 1] == '.' && run.shape.is_number();
            if dotted && joined.ends_with(|last: char| last.is_ascii_digit()) {
                joined.push('.');
            }
            fold_into(&text[run.span.clone()], &mut joined);
        }
        if joined.starts_with('v') && joined.contains('.') && joined[1..].starts_with(|c: char| c.is_ascii_digit()) {
            joined.remove(0);
        }
        (joined.len() <= LONGEST_JOINED).then_some(joined)
    }
}

/// The connector at `at` and where the run after it starts, if there is one.
fn connector_at(text: &str, at: usize) -> Option<(char, usize)> {
    let connector = plain_at(text, at);
    if !matches!(connector, '-' | '_' | '.') {
        return None;
    }
    let mut next = at + text[at..].chars().next()?.len_utf8();
    while connector == '_' && plain_at(text, next) == '_' {
        next += 1;
    }
    class_at(text, next).0.begins_word().then_some((connector, next))
}

fn is_plain_word(run: &Run, letters: usize) -> bool {
    !run.shape.upper && !run.shape.digit && run.span.len() >= letters
}

/// The parts of a run of mixed case or of letters and digits (`maxRetryCount`, `HTTPServer`, `AX3000`). Empty where it
/// has one part only (`PDFs`, `19th`) or so many that it is no name.
pub(super) fn parts(text: &str, run: &Run, out: &mut Vec<Range<usize>>) {
    out.clear();
    let (mut start, mut at) = (run.span.start, run.span.start);
    let mut before: Option<(usize, Class)> = None;
    let mut capitals = 0;
    while at < run.span.end {
        let (class, length) = class_at(text, at);
        if class.begins_word() {
            let cut = before.and_then(|last| boundary(last, class, at, capitals));
            if let Some(cut) = cut.filter(|cut| *cut > start) {
                out.push(start..cut);
                start = cut;
            }
            capitals = if class == Class::Upper { capitals + 1 } else { 0 };
            before = Some((at, class));
        } else if class == Class::Separator {
            (before, capitals) = (None, 0);
        }
        at += length;
    }
    out.push(start..run.span.end);
    if out.len() > MOST_PARTS && run.shape.digit || is_plural(text, run, out) || is_ordinal(text, run, out) {
        out.clear();
    }
    if out.len() < 2 {
        out.clear();
    }
}

/// Where a part ends when `class` at `at` follows the character `last`, after `capitals` capitals.
fn boundary(last: (usize, Class), class: Class, at: usize, capitals: usize) -> Option<usize> {
    match (last.1, class) {
        (Class::Lower, Class::Upper) | (Class::Digit, Class::Lower | Class::Upper) => Some(at),
        (Class::Lower | Class::Upper, Class::Digit) => Some(at),
        (Class::Upper, Class::Lower) if capitals > 1 => Some(last.0),
        _ => None,
    }
}

/// `PDFs`, `IDs`.
fn is_plural(text: &str, run: &Run, parts: &[Range<usize>]) -> bool {
    parts.len() == 2 && !run.shape.digit && parts[1].len() == 2 && text[..run.span.end].ends_with('s') && {
        let capitals = &text[parts[0].start..parts[1].start + 1];
        capitals.chars().all(char::is_uppercase)
    }
}

/// `19th`, `2nd`.
fn is_ordinal(text: &str, run: &Run, parts: &[Range<usize>]) -> bool {
    parts.len() == 2
        && class_at(text, run.span.start).0 == Class::Digit
        && matches!(&text[parts[1].clone()], "st" | "nd" | "rd" | "th")
}
