//! Where parents lie in the original.

use super::Parent;
use crate::document::{Begins, Format, Locator, Mark, NormalisedDocument};

/// Fills in the locators. `rows` are the starts of a table file's records.
pub(super) fn locate(document: &NormalisedDocument, rows: Option<&[usize]>, parents: &mut [Parent]) {
    let mut lines = Lines { body: &document.body, at: 0, line: 1 };
    for parent in parents {
        // The white space around the text says nothing of where it lies.
        let (first, last) = match (parent.chunks.first(), parent.chunks.last()) {
            (Some(first), Some(last)) => (first.span.start, last.span.end),
            _ => (parent.span.start, parent.span.end),
        };
        let last = last.saturating_sub(1).max(first);
        let marked = marked(document, first, last);
        let (first_line, last_line) = (lines.number(first), lines.number(last));
        parent.locator = match (rows, marked) {
            (Some(rows), _) => Locator::Rows { sheet: None, first: row(rows, first), last: row(rows, last) },
            (None, Some(locator)) => locator,
            (None, None) => Locator::Lines { first: first_line, last: last_line },
        };
    }
}

/// Counts lines, each byte once, as offsets ascend.
struct Lines<'a> {
    body: &'a str,
    at: usize,
    line: u32,
}

impl Lines<'_> {
    fn number(&mut self, offset: usize) -> u32 {
        if offset > self.at {
            self.line += line_ends(&self.body[self.at..self.body.floor_char_boundary(offset)]);
            self.at = self.body.floor_char_boundary(offset);
        }
        self.line
    }
}

fn line_ends(text: &str) -> u32 {
    u32::try_from(text.bytes().filter(|byte| *byte == b'\n').count()).unwrap_or(u32::MAX)
}

fn row(rows: &[usize], offset: usize) -> u32 {
    u32::try_from(rows.partition_point(|start| *start <= offset)).unwrap_or(u32::MAX).max(1)
}

fn marked(document: &NormalisedDocument, first: usize, last: usize) -> Option<Locator> {
    let before = |offset: usize| document.marks.partition_point(|mark| mark.offset <= offset).saturating_sub(1);
    let from = document.marks.get(before(first))?;
    let to = document.marks.get(before(last))?;
    match (&from.begins, &to.begins) {
        (Begins::Page(first), Begins::Page(last)) => Some(Locator::Pages { first: *first, last: *last }),
        (Begins::Row { sheet, row }, _) => {
            let end = document.marks[..=before(last)].iter().rev().find(|mark| is_of(mark, sheet)).unwrap_or(from);
            Some(Locator::Rows {
                sheet: Some(sheet.clone()),
                first: row + table_lines(document, from, first),
                last: row_of(end)? + table_lines(document, end, last),
            })
        }
        _ => None,
    }
}

fn is_of(mark: &Mark, name: &str) -> bool {
    matches!(&mark.begins, Begins::Row { sheet, .. } if sheet == name)
}

fn row_of(mark: &Mark) -> Option<u32> {
    match mark.begins {
        Begins::Row { row, .. } => Some(row),
        Begins::Page(_) => None,
    }
}

/// Rows between a mark and an offset of its table, where only the sheet's first row has a mark: one a line, without
/// the line under the header.
fn table_lines(document: &NormalisedDocument, mark: &Mark, offset: usize) -> u32 {
    let sheets_marked =
        document.marks.iter().filter(|other| other.begins == mark.begins || same_sheet(other, mark)).take(2);
    if document.format != Format::Xlsx || sheets_marked.count() > 1 || offset <= mark.offset {
        return 0;
    }
    let text = &document.body[mark.offset..document.body.floor_char_boundary(offset)];
    line_ends(text).saturating_sub(u32::from(text.contains("\n| -") || text.contains("\n|-")))
}

fn same_sheet(one: &Mark, other: &Mark) -> bool {
    match (&one.begins, &other.begins) {
        (Begins::Row { sheet: one, .. }, Begins::Row { sheet: other, .. }) => one == other,
        _ => false,
    }
}
