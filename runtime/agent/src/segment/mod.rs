//! Cutting a passage into units that can be quoted: sentences, list items, table rows, blocks of code.
//!
//! JSON lines are cut at line ends. Elsewhere Markdown structure decides first, sentence ends inside a paragraph second.
//! Headings, rules and front matter give no unit: they name things, they say nothing. Source code has neither, but comments.

mod builder;
mod sentence;
mod table;

#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::passage::TextForm;

/// A quotable piece of a passage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Bytes of the passage's text; the quote.
    pub range: Range<usize>,
    /// What an answer shows: the quote on one line, without Markdown's marks; of a table row, `header: value` pairs.
    pub text: String,
    /// What it is.
    pub kind: UnitKind,
    /// Units of one paragraph, list or table have the same number; numbers rise.
    pub block: usize,
}

/// What a unit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitKind {
    /// A sentence of a paragraph.
    Sentence,
    /// An item of a list, or a sentence of a long item.
    ListItem,
    /// A row of a table, or a line of JSON lines.
    TableRow,
    /// Code in fences, cut at blank lines where it is long.
    Code,
}

/// Units of a passage, disjoint, in reading order. `table_header` names the columns where the text is rows whose header
/// lies outside of it.
pub fn units(text: &str, form: TextForm, table_header: Option<&[String]>) -> Vec<Unit> {
    let is_markdown_row = |line: &str| line.trim_start().starts_with('|');
    match table_header {
        _ if form == TextForm::Records => records(text),
        Some(header) if !text.lines().any(is_markdown_row) => delimited_rows(text, form, header),
        _ => builder::segment(text, form, table_header),
    }
}

fn records(text: &str) -> Vec<Unit> {
    let lines = trimmed_lines(text).enumerate();
    let record = |(block, range): (usize, Range<usize>)| {
        let text = one_line(&text[range.clone()], TextForm::Records);
        Unit { range, text, kind: UnitKind::TableRow, block }
    };
    lines.map(record).collect()
}

/// Bytes of each line that has more than white space, without what is around it.
fn trimmed_lines(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    text.split_inclusive('\n').filter_map(move |line| {
        let range = sentence::trimmed(line, start);
        start += line.len();
        range
    })
}

fn delimited_rows(text: &str, form: TextForm, header: &[String]) -> Vec<Unit> {
    let delimiter = table::delimiter(text, header.len());
    let mut units = Vec::new();
    for range in trimmed_lines(text) {
        let row = &text[range.clone()];
        let cells = table::delimited_cells(row, delimiter);
        if cells == header {
            continue;
        }
        let text = if cells.len() == header.len() { table::row_text(header, &cells) } else { one_line(row, form) };
        units.push(Unit { range, text, kind: UnitKind::TableRow, block: 0 });
    }
    units
}

/// White space folded to single spaces; of Markdown, emphasis marks dropped and links reduced to their text.
pub(crate) fn one_line(text: &str, form: TextForm) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match form {
        TextForm::Markdown => without_marks(&line),
        TextForm::Plain | TextForm::Code | TextForm::Records => line,
    }
}

fn without_marks(line: &str) -> String {
    let mut rest = line.replace("**", "");
    let mut plain = String::with_capacity(rest.len());
    while let Some((before, label, after)) = next_link(&rest) {
        plain.push_str(before);
        plain.push_str(label);
        rest = after.to_owned();
    }
    plain + &rest
}

/// The text before the first `[label](target)`, the label, and the text after it.
fn next_link(text: &str) -> Option<(&str, &str, &str)> {
    let middle = text.find("](")?;
    let open = text[..middle].rfind('[')?;
    let close = middle + text[middle..].find(')')?;
    let before = text[..open].strip_suffix('!').unwrap_or(&text[..open]);
    Some((before, &text[open + 1..middle], &text[close + 1..]))
}
