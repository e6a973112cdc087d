//! XLSX: each sheet as a heading and a table, with a mark for each row.

mod number;

use calamine::{DataRef, Reader, Xlsx, XlsxError, open_workbook_from_rs};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Cursor;

use crate::archive::Archive;
use crate::markdown::Markdown;
use crate::{Begins, ExtractError, Extracted, Mark, one_line};

/// Cells with a value that are read of one workbook; further ones are noted.
const MAX_CELLS: usize = 1_000_000;

/// Rows of a sheet by number from 0, each with its cells by column.
type Rows = BTreeMap<u32, BTreeMap<u32, String>>;

/// Extracts a workbook.
///
/// Values appear as the sheet shows them (dates, percent, decimals), formulas with their last result. Rows of a single
/// cell above a table are paragraphs; the first row of the table is its header; empty rows and columns go.
///
/// # Errors
/// Where the archive or one of its parts is broken, hostile or encrypted.
pub fn extract(bytes: &[u8]) -> Result<Extracted, ExtractError> {
    // Opened only to be measured: the workbook's reader inflates without counting.
    Archive::open(bytes, "XLSX")?;
    let mut workbook: Xlsx<_> =
        open_workbook_from_rs(Cursor::new(bytes)).map_err(|error| failure("workbook", &error))?;
    let mut extracted = Extracted::default();
    let mut markdown = Markdown::default();
    let mut left = MAX_CELLS;
    for sheet in workbook.sheet_names() {
        match read_rows(&mut workbook, &sheet, &mut left) {
            Ok((rows, complete)) => {
                write_sheet(&mut markdown, &mut extracted.marks, &sheet, &rows);
                if !complete {
                    extracted.notes.push(format!("sheet {sheet:?} was cut: the workbook has over {MAX_CELLS} cells"));
                }
            }
            // Sheets of charts have no cells.
            Err(XlsxError::WorksheetNotFound(_) | XlsxError::NotAWorksheet(_)) => {}
            Err(error) => return Err(failure(&format!("sheet {sheet:?}"), &error)),
        }
    }
    extracted.markdown = markdown.finish();
    Ok(extracted)
}

fn failure(part: &str, error: &XlsxError) -> ExtractError {
    ExtractError::BrokenPart { part: part.to_owned(), reason: one_line(&error.to_string()) }
}

/// The sheet's rows, and whether they are all.
fn read_rows(workbook: &mut Xlsx<Cursor<&[u8]>>, sheet: &str, left: &mut usize) -> Result<(Rows, bool), XlsxError> {
    let mut rows = Rows::new();
    let mut cells = workbook.worksheet_cells_reader(sheet)?;
    while let Some((cell, style)) = cells.next_cell_with_style_id()? {
        let format = cells.styles().get(style).and_then(|style| style.number_format.as_ref());
        let shown = show(cell.get_value(), format.map_or("General", |format| &format.format_code));
        if shown.is_empty() {
            continue;
        }
        if *left == 0 {
            return Ok((rows, false));
        }
        *left -= 1;
        let (row, column) = cell.get_position();
        rows.entry(row).or_default().insert(column, shown);
    }
    Ok((rows, true))
}

/// A value as the sheet shows it.
fn show(value: &DataRef<'_>, format: &str) -> String {
    match value {
        DataRef::Int(number) => number::show(*number as f64, format),
        DataRef::Float(number) => number::show(*number, format),
        DataRef::String(text) => one_line(text),
        DataRef::SharedString(text) => one_line(text),
        DataRef::Bool(flag) => if *flag { "TRUE" } else { "FALSE" }.to_owned(),
        DataRef::DateTime(time) if time.is_duration() => number::show_duration(time.as_f64()),
        DataRef::DateTime(time) => number::show_time(time.as_f64(), time.to_ymd_hms_milli()),
        DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => one_line(text),
        DataRef::Error(error) => error.to_string(),
        DataRef::Empty => String::new(),
    }
}

fn write_sheet(markdown: &mut Markdown, marks: &mut Vec<Mark>, sheet: &str, rows: &Rows) {
    if rows.is_empty() {
        return;
    }
    markdown.heading(2, sheet);
    let mut mark = |offset: usize, row: u32| {
        marks.push(Mark { offset, begins: Begins::Row { sheet: sheet.to_owned(), row: row.saturating_add(1) } });
    };
    let is_table = rows.values().any(|cells| cells.len() > 1);
    let above = rows.iter().take_while(|(_, cells)| is_table && cells.len() == 1).count();
    for (row, cells) in rows.iter().take(above) {
        let offset = markdown.len() + 1;
        cells.values().for_each(|text| markdown.paragraph(text, 0, 0));
        mark(offset, *row);
    }
    let table: Vec<_> = rows.iter().skip(above).collect();
    let columns: BTreeSet<u32> = table.iter().flat_map(|(_, cells)| cells.keys().copied()).collect();
    let cells: Vec<Vec<String>> = table
        .iter()
        .map(|(_, cells)| columns.iter().map(|column| cells.get(column).cloned().unwrap_or_default()).collect())
        .collect();
    for ((row, _), offset) in table.iter().zip(markdown.table(&cells)) {
        mark(offset, **row);
    }
}

#[cfg(test)]
mod tests;
