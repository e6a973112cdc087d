//! The outline of Markdown.

use pulldown_cmark::{Event, HeadingLevel, OffsetIter, Options, Parser, Tag, TagEnd};
use std::ops::Range;

use super::outline::{Block, Cut, Kind, Outline, Section, lines, one_line};

/// Most headings without text between them that share a section.
const MOST_HEADINGS: usize = 8;

/// Sections by headings. Headings with nothing between them belong to the section of the last.
pub(super) fn outline(body: &str, start: usize) -> Outline {
    let mut outline = Outline::new();
    let mut reader = Reader { body, start, events: parser(body, start), blocks: Vec::new(), notes: Vec::new() };
    reader.read();
    outline.notes.append(&mut reader.notes);
    let mut path: Vec<(u8, String)> = Vec::new();
    for (block, heading) in tile(body, start, reader.blocks) {
        if let Some((level, text)) = heading {
            outline.heading.get_or_insert_with(|| text.clone());
            path.retain(|(above, _)| *above < level);
            path.push((level, text));
            let names = path.iter().map(|(_, name)| name.clone()).collect();
            match outline.sections.last_mut().filter(|last| takes_heading(last, level)) {
                Some(last) => last.path = names,
                None => outline.sections.push(Section { level, path: names, blocks: Vec::new() }),
            }
        }
        if outline.sections.is_empty() {
            outline.sections.push(Section { level: 1, path: Vec::new(), blocks: Vec::new() });
        }
        outline.sections.last_mut().expect("one was just added").blocks.push(block);
    }
    outline
}

/// Text of the first heading.
pub(super) fn first_heading(body: &str, start: usize) -> Option<String> {
    let mut events = parser(body, start);
    let found = events.any(|(event, _)| matches!(event, Event::Start(Tag::Heading { .. })));
    found.then(|| text_until(&mut events, |end| matches!(end, TagEnd::Heading(_))))
}

fn parser(body: &str, start: usize) -> OffsetIter<'_> {
    Parser::new_ext(&body[start..], Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH).into_offset_iter()
}

fn takes_heading(section: &Section, level: u8) -> bool {
    section.level <= level
        && section.blocks.len() < MOST_HEADINGS
        && section.blocks.iter().all(|block| block.kind == Kind::Heading)
}

/// A heading's level and text.
type Heading = (u8, String);

struct Reader<'a> {
    body: &'a str,
    start: usize,
    events: OffsetIter<'a>,
    blocks: Vec<(Block, Option<Heading>)>,
    notes: Vec<String>,
}

impl Reader<'_> {
    fn read(&mut self) {
        while let Some((event, range)) = self.events.next() {
            let span = self.start + range.start..self.start + range.end;
            match event {
                Event::Start(Tag::Heading { level, .. }) => {
                    let text = text_until(&mut self.events, |end| matches!(end, TagEnd::Heading(_)));
                    self.add(span, Kind::Heading, Vec::new(), Some((number(level), text)));
                }
                Event::Start(Tag::CodeBlock(_)) => {
                    self.skip();
                    let cuts = lines(&self.body[..span.end], span.start).map(|line| line.start).collect();
                    self.add(span, Kind::Rigid, cuts, None);
                }
                Event::Start(Tag::List(_)) => {
                    let cuts = self.list();
                    self.add(span, Kind::Rigid, cuts, None);
                }
                Event::Start(Tag::Table(_)) => self.table(span),
                Event::Start(_) => {
                    self.skip();
                    self.add(span, Kind::Prose, Vec::new(), None);
                }
                _ => self.add(span, Kind::Prose, Vec::new(), None),
            }
        }
    }

    fn add(&mut self, span: Range<usize>, kind: Kind, cuts: Vec<usize>, heading: Option<Heading>) {
        let cuts = cuts.into_iter().map(|at| Cut { at, note: 0 }).collect();
        self.blocks.push((Block { span, kind, cuts }, heading));
    }

    /// Passes over what is inside the element that has just begun.
    fn skip(&mut self) {
        self.inside(|_, _, _| {});
    }

    /// Calls `visit` with each event inside the element that has just begun, and its depth.
    fn inside(&mut self, mut visit: impl FnMut(usize, &Event<'_>, usize)) {
        let mut depth = 0_usize;
        for (event, range) in self.events.by_ref() {
            match event {
                Event::Start(_) => {
                    visit(depth, &event, self.start + range.start);
                    depth += 1;
                }
                Event::End(_) if depth == 0 => return,
                Event::End(_) => depth -= 1,
                _ => visit(depth, &event, self.start + range.start),
            }
        }
    }

    fn list(&mut self) -> Vec<usize> {
        let mut cuts = Vec::new();
        self.inside(|depth, event, at| {
            if depth == 0 && matches!(event, Event::Start(Tag::Item)) {
                cuts.push(at);
            }
        });
        cuts
    }

    fn table(&mut self, span: Range<usize>) {
        let (mut rows, mut header) = (Vec::new(), Vec::new());
        self.inside(|depth, event, at| match event {
            Event::Start(Tag::TableRow) if depth == 0 => rows.push(at),
            Event::Start(Tag::TableCell) if rows.is_empty() => header.push(String::new()),
            Event::Text(text) | Event::Code(text) if rows.is_empty() => {
                if let Some(cell) = header.last_mut() {
                    cell.push_str(text);
                }
            }
            _ => {}
        });
        let header: Vec<_> = header.iter().map(|cell| one_line(cell)).collect();
        self.notes.push(header.join(" | "));
        let note = self.notes.len();
        let rows = rows.into_iter().map(|at| Cut { at, note });
        let cuts = std::iter::once(Cut { at: span.start, note: 0 }).chain(rows).collect();
        self.blocks.push((Block { span, kind: Kind::Rows, cuts }, None));
    }
}

fn text_until(events: &mut OffsetIter<'_>, ends: impl Fn(TagEnd) -> bool) -> String {
    let mut text = String::new();
    for (event, _) in events {
        match event {
            Event::Text(part) | Event::Code(part) => text.push_str(&part),
            Event::SoftBreak | Event::HardBreak => text.push(' '),
            Event::End(end) if ends(end) => break,
            _ => {}
        }
    }
    one_line(&text)
}

fn number(level: HeadingLevel) -> u8 {
    level as u8
}

/// Extends each block to the next one's line, so that they leave no gap, and puts the first cut at the block's start.
fn tile(body: &str, start: usize, mut blocks: Vec<(Block, Option<Heading>)>) -> Vec<(Block, Option<Heading>)> {
    if blocks.is_empty() && start < body.len() {
        blocks.push((Block { span: start..body.len(), kind: Kind::Prose, cuts: Vec::new() }, None));
    }
    let mut end = body.len();
    for (block, _) in blocks.iter_mut().rev() {
        block.span = line_start(body, start, block.span.start)..end;
        end = block.span.start;
    }
    if let Some((first, _)) = blocks.first_mut() {
        first.span.start = start;
    }
    for (block, _) in &mut blocks {
        let span = block.span.clone();
        block.cuts.iter_mut().for_each(|cut| cut.at = line_start(body, span.start, cut.at));
        block.cuts.retain(|cut| span.contains(&cut.at));
        block.cuts.dedup_by_key(|cut| cut.at);
        if block.kind != Kind::Prose && block.kind != Kind::Heading {
            match block.cuts.first_mut() {
                Some(first) => first.at = span.start,
                None => block.cuts.push(Cut { at: span.start, note: 0 }),
            }
        }
    }
    blocks.retain(|(block, _)| !block.span.is_empty());
    blocks
}

/// The start of the line of `at`, if only white space stands between, but not before `least`.
fn line_start(body: &str, least: usize, at: usize) -> usize {
    let before = &body[least..at.max(least)];
    let indent = before.len() - before.trim_end_matches([' ', '\t']).len();
    let start = at.max(least) - indent;
    if start == least || body[..start].ends_with('\n') { start } else { at.max(least) }
}
