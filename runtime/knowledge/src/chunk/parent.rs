//! Parents: stretches of large sections, and small sections that share one.

use std::ops::Range;

use super::outline::{Outline, Section};
use super::token::count;
use super::window::{Limits, Unit, stretches, units, windows};
use super::{Chunk, Parent};
use crate::document::Locator;

/// Longest line of context in bytes.
const LONGEST_LINE: usize = 200;

pub(super) struct Writer<'a> {
    pub(super) body: &'a str,
    pub(super) title: &'a str,
    pub(super) limits: Limits,
    /// Whether small sections may share a parent.
    pub(super) merges: bool,
}

impl Writer<'_> {
    /// The parents of an outline; their locators are still empty.
    pub(super) fn parents(&self, outline: &Outline) -> Vec<Parent> {
        let mut parents: Vec<Parent> = Vec::new();
        // Level of the first section of the last parent, while more may join it.
        let mut open: Option<u8> = None;
        for section in &outline.sections {
            let mut made = self.section(outline, section);
            let whole = made.len() == 1;
            if let (true, Some(level), Some(last)) = (whole, open, parents.last_mut()) {
                let small = last.tokens.saturating_add(made[0].tokens) <= self.limits.parent;
                if self.merges && small && section.level >= level {
                    join(last, made.remove(0));
                    continue;
                }
            }
            open = whole.then_some(section.level);
            parents.append(&mut made);
        }
        parents
    }

    /// A parent without chunks for the bytes before `end`.
    pub(super) fn front_matter(&self, end: usize) -> Parent {
        self.parent(0..end, Vec::new(), count(&self.body[..end]), Vec::new())
    }

    fn parent(&self, span: Range<usize>, heading_path: Vec<String>, tokens: u32, chunks: Vec<Chunk>) -> Parent {
        Parent { span, heading_path, locator: Locator::Lines { first: 1, last: 1 }, tokens, chunks }
    }

    fn section(&self, outline: &Outline, section: &Section) -> Vec<Parent> {
        let units = units(self.body, &section.blocks, self.limits);
        let context = self.context(section);
        let stretches = stretches(&units, self.limits);
        let parents = stretches.into_iter().filter(|stretch| !stretch.is_empty()).map(|stretch| {
            let units = &units[stretch];
            let tokens = units.iter().fold(0_u32, |sum, unit| sum.saturating_add(unit.tokens));
            let chunks = windows(units, self.limits).into_iter();
            let chunks = chunks.filter_map(|window| self.chunk(&outline.notes, &context, &units[window])).collect();
            let span = units[0].span.start..units[units.len() - 1].span.end;
            self.parent(span, section.path.clone(), tokens, chunks)
        });
        parents.collect()
    }

    fn chunk(&self, notes: &[String], context: &str, units: &[Unit]) -> Option<Chunk> {
        let span = trimmed(self.body, units[0].span.start..units[units.len() - 1].span.end)?;
        let mut context = context.to_owned();
        line(&mut context, &notes[units[0].note]);
        Some(Chunk { span, context })
    }

    fn context(&self, section: &Section) -> String {
        section_context(self.title, &section.path)
    }
}

fn join(parent: &mut Parent, next: Parent) {
    parent.span.end = next.span.end;
    parent.tokens = parent.tokens.saturating_add(next.tokens);
    parent.chunks.extend(next.chunks);
    let common = parent.heading_path.iter().zip(&next.heading_path).take_while(|(one, other)| one == other).count();
    parent.heading_path.truncate(common);
}

/// What stands above a section: its document's title, and its headings.
pub(crate) fn section_context(title: &str, heading_path: &[String]) -> String {
    let mut context = String::new();
    line(&mut context, title);
    line(&mut context, &heading_path.join(" > "));
    context
}

fn line(context: &mut String, text: &str) {
    if text.is_empty() {
        return;
    }
    if !context.is_empty() {
        context.push('\n');
    }
    context.push_str(&text[..text.floor_char_boundary(LONGEST_LINE)]);
}

/// The span without white space at either end.
fn trimmed(body: &str, span: Range<usize>) -> Option<Range<usize>> {
    let text = &body[span.clone()];
    let start = span.start + text.len() - text.trim_start().len();
    let end = span.start + text.trim_end().len();
    (start < end).then_some(start..end)
}
