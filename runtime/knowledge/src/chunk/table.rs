//! Files of records: separated values and JSON lines.

use std::ops::Range;

use super::outline::{Block, Cut, Kind, Outline, lines, one_line};

/// A file of separated values: its first record is the header, cells may hold line ends in quotes.
pub(super) fn separated(body: &str, start: usize) -> Outline {
    let mut outline = Outline::new();
    let records = records(body, start);
    let Some(header) = records.first() else { return outline };
    outline.notes.push(cells(&body[header.clone()]));
    let cuts = records.iter().enumerate().map(|(index, span)| Cut { at: span.start, note: usize::from(index > 0) });
    let cuts: Vec<_> = cuts.collect();
    outline.rows = Some(records.iter().map(|span| span.start).collect());
    outline.flat(vec![Block { span: start..body.len(), kind: Kind::Rows, cuts }]);
    outline
}

/// A file with a record a line.
pub(super) fn lines_of_records(body: &str, start: usize) -> Outline {
    let mut outline = Outline::new();
    let cuts: Vec<_> = lines(body, start).map(|line| Cut { at: line.start, note: 0 }).collect();
    if !cuts.is_empty() {
        outline.flat(vec![Block { span: start..body.len(), kind: Kind::Rows, cuts }]);
    }
    outline
}

/// Records with their line ends: a line end within quotes does not end one.
fn records(body: &str, start: usize) -> Vec<Range<usize>> {
    let mut records: Vec<Range<usize>> = Vec::new();
    let mut open = false;
    for line in lines(body, start) {
        let quotes = body[line.clone()].bytes().filter(|byte| *byte == b'"').count();
        match records.last_mut() {
            Some(last) if open => last.end = line.end,
            _ => records.push(line),
        }
        open ^= quotes % 2 == 1;
    }
    records
}

/// The cells of a record, joined by ` | `.
fn cells(record: &str) -> String {
    let separator = [b',', b';', b'\t', b'|'].into_iter().max_by_key(|separator| {
        // The first of equals wins, and `max_by_key` takes the last.
        let found = record.bytes().filter(|byte| byte == separator).count();
        (found, u8::MAX - separator.wrapping_sub(b'"'))
    });
    let mut reader = csv::ReaderBuilder::new();
    let reader = reader.has_headers(false).flexible(true).delimiter(separator.unwrap_or(b','));
    match reader.from_reader(record.as_bytes()).records().next() {
        Some(Ok(cells)) => cells.iter().map(one_line).collect::<Vec<_>>().join(" | "),
        _ => one_line(record),
    }
}
