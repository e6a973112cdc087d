//! The paragraphs and tables of a document, event by event.

use quick_xml::events::{BytesStart, Event};

use super::numbering::Numbering;
use super::styles::{Role, Styles};
use super::{attribute, text_of};
use crate::markdown::Markdown;

/// Deepest list level that is shown; WordprocessingML has nine.
const MAX_LEVEL: usize = 8;

/// Reads the events of a document part and writes Markdown.
pub(super) struct Body<'a> {
    styles: &'a Styles,
    numbering: Numbering,
    markdown: Markdown,
    title: Option<String>,
    paragraphs: Vec<Paragraph>,
    tables: Vec<Table>,
    /// Elements whose content does not count, open now.
    ignored: usize,
    /// Whether a text element is open.
    in_text: bool,
}

#[derive(Default)]
struct Paragraph {
    text: String,
    style: String,
    list: Option<String>,
    level: usize,
    outline_level: Option<usize>,
}

#[derive(Default)]
struct Table {
    rows: Vec<Vec<String>>,
    cell: String,
    span: usize,
}

impl<'a> Body<'a> {
    pub(super) fn new(styles: &'a Styles, numbering: Numbering) -> Self {
        Self {
            styles,
            numbering,
            markdown: Markdown::default(),
            title: None,
            paragraphs: Vec::new(),
            tables: Vec::new(),
            ignored: 0,
            in_text: false,
        }
    }

    /// Takes the next event.
    pub(super) fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::Empty(tag) => {
                self.start(tag);
                self.end(tag.local_name().as_ref());
            }
            Event::End(tag) => self.end(tag.local_name().as_ref()),
            other if self.in_text && self.ignored == 0 => self.push(&text_of(other)),
            _ => {}
        }
    }

    /// Closes what a part left open.
    pub(super) fn end_part(&mut self) {
        self.ignored = 0;
        self.in_text = false;
        while let Some(paragraph) = self.paragraphs.pop() {
            self.write(paragraph);
        }
        while !self.tables.is_empty() {
            self.end_table();
        }
    }

    /// The Markdown, and the text of the first paragraph in a title's style.
    pub(super) fn finish(self) -> (String, Option<String>) {
        (self.markdown.finish(), self.title)
    }

    fn start(&mut self, tag: &BytesStart<'_>) {
        let name = tag.local_name();
        let name = name.as_ref();
        if is_ignored(name) || is_separator(name, tag) {
            self.ignored += 1;
        }
        if self.ignored > 0 {
            return;
        }
        match name {
            "p" => self.paragraphs.push(Paragraph::default()),
            "t" => self.in_text = true,
            "tab" => self.push("\t"),
            "br" | "cr" => self.push("\n"),
            "noBreakHyphen" => self.push("\u{2011}"),
            "tbl" => self.tables.push(Table::default()),
            "tr" => self.table(|table| table.rows.push(Vec::new())),
            "tc" => self.table(|table| {
                table.cell.clear();
                table.span = 1;
            }),
            "gridSpan" => {
                let span = attribute(tag, "val").and_then(|value| value.parse().ok()).unwrap_or(1).clamp(1, 50);
                self.table(|table| table.span = span);
            }
            _ => self.property(name, tag),
        }
    }

    /// Properties of the paragraph that is open.
    fn property(&mut self, name: &str, tag: &BytesStart<'_>) {
        let Some(paragraph) = self.paragraphs.last_mut() else { return };
        let value = attribute(tag, "val");
        match name {
            "pStyle" => paragraph.style = value.unwrap_or_default(),
            "numId" => paragraph.list = value,
            "ilvl" => paragraph.level = value.and_then(|value| value.parse().ok()).unwrap_or(0).min(MAX_LEVEL),
            "outlineLvl" => paragraph.outline_level = value.and_then(|value| value.parse().ok()),
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        if self.ignored > 0 {
            // A separator note is the only ignored element that is not ignored by its name.
            self.ignored -= usize::from(is_ignored(name) || matches!(name, "footnote" | "endnote"));
            return;
        }
        match name {
            "t" => self.in_text = false,
            "p" => {
                if let Some(paragraph) = self.paragraphs.pop() {
                    self.write(paragraph);
                }
            }
            "tc" => self.table(|table| {
                let mut cells = vec![std::mem::take(&mut table.cell)];
                cells.resize(table.span.max(1), String::new());
                if let Some(row) = table.rows.last_mut() {
                    row.append(&mut cells);
                }
            }),
            "tbl" => self.end_table(),
            _ => {}
        }
    }

    fn push(&mut self, text: &str) {
        if let Some(paragraph) = self.paragraphs.last_mut() {
            paragraph.text.extend(text.chars().filter(|c| *c == '\n' || *c == '\t' || !c.is_control()));
        }
    }

    fn table(&mut self, change: impl FnOnce(&mut Table)) {
        if let Some(table) = self.tables.last_mut() {
            change(table);
        }
    }

    /// A table inside a cell becomes text of that cell.
    fn end_table(&mut self) {
        let Some(table) = self.tables.pop() else { return };
        match self.tables.last_mut() {
            Some(outer) => {
                let rows = table.rows.iter().map(|row| row.join(" ")).collect::<Vec<_>>();
                append(&mut outer.cell, &rows.join("; "));
            }
            None => drop(self.markdown.table(&table.rows)),
        }
    }

    fn write(&mut self, paragraph: Paragraph) {
        if let Some(table) = self.tables.last_mut() {
            return append(&mut table.cell, &paragraph.text);
        }
        let text = paragraph.text.replace('\t', " ");
        let role = match (self.styles.role(&paragraph.style), paragraph.outline_level) {
            (Role::Body, Some(level @ 0..=8)) => Role::Heading(level + 1),
            (role, _) => role,
        };
        match role {
            Role::Title => {
                self.title =
                    self.title.take().or_else(|| Some(crate::one_line(&text)).filter(|title| !title.is_empty()));
                self.markdown.heading(1, &text);
            }
            Role::Heading(level) => self.markdown.heading(level, &text),
            Role::Body => self.write_body(&paragraph, &text),
        }
    }

    fn write_body(&mut self, paragraph: &Paragraph, text: &str) {
        let own = paragraph.list.clone().map(|list| (list, paragraph.level));
        let list = own.or_else(|| self.styles.list(&paragraph.style)).filter(|_| !text.trim().is_empty());
        let item = list.and_then(|(list, level)| Some((self.numbering.marker(&list, level)?, level)));
        match item {
            Some((marker, level)) => self.markdown.item(&marker, text, 0, level.min(MAX_LEVEL)),
            None => self.markdown.paragraph(text, 0, 0),
        }
    }
}

fn append(cell: &mut String, text: &str) {
    if !cell.is_empty() && !text.trim().is_empty() {
        cell.push(' ');
    }
    cell.push_str(text.trim());
}

/// Deleted and moved-away text, field codes, the second form of alternative content, tab stops, and properties that hold
/// properties of an earlier revision.
fn is_ignored(name: &str) -> bool {
    matches!(
        name,
        "del"
            | "moveFrom"
            | "instrText"
            | "delText"
            | "Fallback"
            | "tabs"
            | "pPrChange"
            | "rPrChange"
            | "tblPrChange"
            | "tcPrChange"
    )
}

/// Notes that only draw the line above the notes.
fn is_separator(name: &str, tag: &BytesStart<'_>) -> bool {
    matches!(name, "footnote" | "endnote") && attribute(tag, "type").is_some_and(|kind| kind != "normal")
}
