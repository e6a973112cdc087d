//! Where parents lie in the original.

use super::Parent;
use crate::document::{Begins, Locator, Mark, NormalisedDocument};

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
    let (mut from, to) = (before(first), before(last));
    // A sheet's name stands before the mark of its first row.
    let heading = document.body[first..].starts_with('#') && document.marks.get(from)?.offset < first;
    if from < to && heading && sheet_of(&document.marks, from).is_some() {
        from += 1;
    }
    match (&document.marks.get(from)?.begins, &document.marks.get(to)?.begins) {
        (Begins::Page(first), Begins::Page(last)) => Some(Locator::Pages { first: *first, last: *last }),
        (Begins::Row { sheet, .. }, _) => {
            let end = (from..=to).rev().find(|index| sheet_of(&document.marks, *index) == Some(sheet)).unwrap_or(from);
            Some(Locator::Rows {
                sheet: Some(sheet.clone()),
                first: row_at(document, from, first)?,
                last: row_at(document, end, last)?,
            })
        }
        _ => None,
    }
}

fn sheet_of(marks: &[Mark], index: usize) -> Option<&String> {
    match &marks.get(index)?.begins {
        Begins::Row { sheet, .. } => Some(sheet),
        Begins::Page(_) => None,
    }
}

/// The row at an offset behind the mark. Where only a sheet's first row has a mark, each line after it is a row but
/// the one under the header.
fn row_at(document: &NormalisedDocument, index: usize, offset: usize) -> Option<u32> {
    let mark = &document.marks[index];
    let Begins::Row { row, sheet } = &mark.begins else { return None };
    let neighbours = [index.checked_sub(1), Some(index + 1)].into_iter().flatten();
    if neighbours.into_iter().any(|other| sheet_of(&document.marks, other) == Some(sheet)) || offset <= mark.offset {
        return Some(*row);
    }
    let text = &document.body[mark.offset..document.body.floor_char_boundary(offset)];
    let under_header = text.contains("\n| -") || text.contains("\n|-");
    Some(row + line_ends(text).saturating_sub(u32::from(under_header)))
}
