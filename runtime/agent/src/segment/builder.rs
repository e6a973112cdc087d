use std::ops::Range;

use super::sentence::{sentences, trimmed};
use super::table::{is_delimiter, markdown_cells, row_text};
use super::{Unit, UnitKind, one_line};
use crate::passage::TextForm;

/// Longer list items are cut into sentences, longer code at blank lines.
const LONGEST_ITEM: usize = 400;
const LONGEST_CODE: usize = 800;

pub(super) fn segment(text: &str, form: TextForm, table_header: Option<&[String]>) -> Vec<Unit> {
    let header = table_header.map(<[String]>::to_vec).unwrap_or_default();
    let mut builder = Builder { text, form, header, units: Vec::new(), open: Open::Nothing, block: 0, in_list: false };
    let mut start = if form == TextForm::Code { 0 } else { front_matter(text) };
    for line in text[start..].split_inclusive('\n') {
        builder.line(line, start);
        start += line.len();
    }
    builder.close();
    builder.units
}

/// Length of YAML front matter at the beginning.
fn front_matter(text: &str) -> usize {
    let Some(rest) = text.strip_prefix("---\n") else { return 0 };
    match rest.find("\n---\n") {
        Some(end) if rest[..end].contains(':') => "---\n".len() + end + "\n---\n".len(),
        _ => 0,
    }
}

struct Builder<'a> {
    text: &'a str,
    form: TextForm,
    /// Columns of the table being read, or of a table that began before the passage.
    header: Vec<String>,
    units: Vec<Unit>,
    open: Open,
    block: usize,
    /// Whether the last thing read belongs to the list of the current block.
    in_list: bool,
}

enum Open {
    Nothing,
    Paragraph(Range<usize>),
    Item(Range<usize>),
    Fence {
        inner: Range<usize>,
        marker: &'static str,
    },
    /// A first row that is a header if a delimiter row follows.
    Row(Range<usize>),
    Table,
}

enum Line {
    Blank,
    Fence(&'static str),
    Heading,
    Underline,
    /// With the length of its marker.
    Item(usize),
    Row,
    Text,
}

impl Builder<'_> {
    fn line(&mut self, line: &str, start: usize) {
        let end = start + line.len();
        if let Open::Fence { inner, marker } = &mut self.open {
            if line.trim_start().starts_with(*marker) {
                self.close()
            } else {
                inner.end = end
            }
            return;
        }
        match classify(line, self.form) {
            Line::Blank => self.close(),
            Line::Fence(marker) => {
                self.begin_block();
                self.open = Open::Fence { inner: end..end, marker };
            }
            Line::Heading => self.begin_block(),
            Line::Underline => {
                if matches!(&self.open, Open::Paragraph(range) if !self.text[range.clone()].trim().contains('\n')) {
                    self.open = Open::Nothing;
                }
                self.begin_block();
            }
            Line::Item(marker) => self.item(start + marker..end),
            Line::Row => self.row(start..end),
            Line::Text => self.continue_text(line, start..end),
        }
    }

    fn begin_block(&mut self) {
        self.close();
        self.block += 1;
        self.in_list = false;
    }

    fn item(&mut self, range: Range<usize>) {
        if self.in_list {
            self.close();
        } else {
            self.begin_block();
        }
        self.in_list = true;
        self.open = Open::Item(range);
    }

    fn continue_text(&mut self, line: &str, range: Range<usize>) {
        match &mut self.open {
            Open::Paragraph(open) | Open::Item(open) => open.end = range.end,
            _ if self.in_list && line.starts_with([' ', '\t']) => self.open = Open::Item(range),
            _ => {
                self.begin_block();
                self.open = Open::Paragraph(range);
            }
        }
    }

    fn row(&mut self, range: Range<usize>) {
        let delimiter = is_delimiter(&self.text[range.clone()]);
        match &self.open {
            Open::Row(first) if delimiter => {
                self.header = markdown_cells(&self.text[first.clone()]);
                self.open = Open::Table;
            }
            Open::Row(_) | Open::Table => {
                self.close();
                self.open = Open::Table;
                self.push_row(range);
            }
            _ => {
                self.begin_block();
                self.open = if delimiter { Open::Table } else { Open::Row(range) };
            }
        }
    }

    fn push_row(&mut self, range: Range<usize>) {
        let Some(range) = trimmed(&self.text[range.clone()], range.start) else { return };
        let cells = markdown_cells(&self.text[range.clone()]);
        let text = row_text(&self.header, &cells);
        if !text.is_empty() && cells != self.header && !is_delimiter(&self.text[range.clone()]) {
            self.units.push(Unit { range, text, kind: UnitKind::TableRow, block: self.block });
        }
    }

    fn close(&mut self) {
        match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Nothing | Open::Table => {}
            Open::Paragraph(range) => self.push_sentences(range, UnitKind::Sentence),
            Open::Item(range) if range.len() > LONGEST_ITEM => self.push_sentences(range, UnitKind::ListItem),
            Open::Item(range) => self.push(range, UnitKind::ListItem),
            Open::Fence { inner, .. } => self.push_code(inner),
            Open::Row(range) => self.push_row(range),
        }
    }

    fn push_sentences(&mut self, range: Range<usize>, kind: UnitKind) {
        for sentence in sentences(&self.text[range.clone()]) {
            self.push(range.start + sentence.start..range.start + sentence.end, kind);
        }
    }

    fn push_code(&mut self, range: Range<usize>) {
        if range.len() <= LONGEST_CODE {
            return self.push(range, UnitKind::Code);
        }
        let mut start = range.start;
        for part in self.text[range].split_inclusive("\n\n") {
            let end = start + part.len();
            self.push(start..end, UnitKind::Code);
            start = end;
        }
    }

    fn push(&mut self, range: Range<usize>, kind: UnitKind) {
        let Some(range) = trimmed(&self.text[range.clone()], range.start) else { return };
        let quote = &self.text[range.clone()];
        let says_something = quote.chars().any(char::is_alphanumeric) && !quote.starts_with("<!--");
        if says_something {
            let text = if kind == UnitKind::Code { quote.to_owned() } else { one_line(quote, self.form) };
            self.units.push(Unit { range, text, kind, block: self.block });
        }
    }
}

fn classify(line: &str, form: TextForm) -> Line {
    let content = line.trim();
    let is_prose = form != TextForm::Code;
    let first = content.chars().next();
    match first {
        None => Line::Blank,
        Some('`') if content.starts_with("```") => Line::Fence("```"),
        Some('~') if content.starts_with("~~~") => Line::Fence("~~~"),
        Some('#') if is_prose && is_heading(content) => Line::Heading,
        Some('|') if is_prose && content.len() > 1 => Line::Row,
        Some(rule @ ('-' | '=' | '*' | '_')) if content.len() >= 3 && content.chars().all(|c| c == rule) => {
            if is_prose { Line::Underline } else { Line::Blank }
        }
        Some(_) => item_marker(line).map_or(Line::Text, Line::Item),
    }
}

fn is_heading(content: &str) -> bool {
    let text = content.trim_start_matches('#');
    content.len() - text.len() <= 6 && (text.is_empty() || text.starts_with(' '))
}

/// Length of the line's beginning up to the item's text.
fn item_marker(line: &str) -> Option<usize> {
    let content = line.trim_start();
    let digits = content.len() - content.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let marker = match content.chars().next()? {
        '-' | '*' | '+' => 1,
        '•' | '·' => content.chars().next()?.len_utf8(),
        _ if (1..=3).contains(&digits) && content[digits..].starts_with(['.', ')', '、']) => {
            digits + content[digits..].chars().next()?.len_utf8()
        }
        _ => return None,
    };
    let spaced = content[marker..].starts_with([' ', '\t']) || content[..marker].ends_with('、');
    spaced.then(|| line.len() - content.len() + marker)
}
