//! Units that are not cut, and windows over them.

use std::ops::Range;

use super::outline::{Block, Kind};
use super::sentence;
use super::token::{count, fit, pieces};

/// Sizes in tokens; the overlap is below half a child.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) parent: u32,
    pub(super) child: u32,
    pub(super) overlap: u32,
}

/// A stretch that is not cut further; at most a child's size.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub(super) span: Range<usize>,
    pub(super) tokens: u32,
    /// Index of its block within the section.
    pub(super) block: usize,
    /// Index of the context line of a window that begins here.
    pub(super) note: usize,
    heading: bool,
    /// Whether the next window may repeat it.
    overlaps: bool,
    /// A window holds units of one group only.
    group: usize,
}

/// The units of a section's blocks.
pub(super) fn units(body: &str, blocks: &[Block], limits: Limits) -> Vec<Unit> {
    let mut cutter = Cutter { body, child: limits.child, units: Vec::new(), lead: 0 };
    for (index, block) in blocks.iter().enumerate() {
        cutter.block(index, block);
    }
    cutter.units
}

struct Cutter<'a> {
    body: &'a str,
    child: u32,
    units: Vec<Unit>,
    /// Size of the headings that the next unit should share a window with.
    lead: u32,
}

impl Cutter<'_> {
    fn block(&mut self, index: usize, block: &Block) {
        let unit = Unit {
            span: block.span.clone(),
            tokens: 0,
            block: index,
            note: 0,
            heading: block.kind == Kind::Heading,
            overlaps: matches!(block.kind, Kind::Prose | Kind::Rigid | Kind::Words),
            group: 0,
        };
        match block.kind {
            Kind::Prose => {
                let starts = sentence::starts(&self.body[block.span.clone()]);
                let ends = starts.iter().skip(1).copied().chain([block.span.len()]);
                for (start, end) in starts.iter().zip(ends) {
                    self.push(&unit, block.span.start + start..block.span.start + end);
                }
            }
            Kind::Words => self.words(&unit),
            Kind::Heading => {
                self.push(&unit, block.span.clone());
            }
            Kind::Rigid | Kind::Rows => self.rigid(&unit, block),
        }
        if block.kind == Kind::Heading {
            self.lead = self.lead.saturating_add(self.units.last().map_or(0, |unit| unit.tokens));
        }
    }

    fn rigid(&mut self, unit: &Unit, block: &Block) {
        let first = block.cuts.first().map_or(0, |cut| cut.note);
        let tokens = count(&self.body[block.span.clone()]);
        if tokens <= self.budget() {
            self.units.push(Unit { tokens, note: first, overlaps: false, ..unit.clone() });
            self.lead = 0;
            return;
        }
        let group = if block.kind == Kind::Rows { unit.block + 1 } else { 0 };
        if group > 0 {
            self.lead = 0;
        }
        let ends = block.cuts.iter().skip(1).map(|cut| cut.at).chain([block.span.end]);
        for (cut, end) in block.cuts.iter().zip(ends) {
            self.push(&Unit { note: cut.note, group, ..unit.clone() }, cut.at..end);
        }
    }

    fn words(&mut self, unit: &Unit) {
        if self.child == u32::MAX {
            let tokens = count(&self.body[unit.span.clone()]);
            self.units.push(Unit { tokens, ..unit.clone() });
            return;
        }
        let mut at = unit.span.start;
        for (piece, tokens) in pieces(&self.body[unit.span.clone()]) {
            let span = at..at + piece.len();
            at = span.end;
            self.units.push(Unit { span, tokens, ..unit.clone() });
        }
    }

    /// Adds a stretch, cut where it exceeds a child.
    fn push(&mut self, unit: &Unit, mut span: Range<usize>) {
        while !span.is_empty() {
            let (length, tokens) = fit(&self.body[span.clone()], self.budget());
            let end = span.start + length;
            self.units.push(Unit { span: span.start..end, tokens, ..unit.clone() });
            if !unit.heading {
                self.lead = 0;
            }
            span.start = end;
        }
    }

    /// What the next unit may cost: a child less the headings above it, where they are small.
    fn budget(&self) -> u32 {
        if self.lead < self.child / 2 { self.child - self.lead } else { self.child }
    }
}

/// Cuts a section's units into stretches of at most a parent's size, at blocks where possible.
pub(super) fn stretches(units: &[Unit], limits: Limits) -> Vec<Range<usize>> {
    let mut cuts = Vec::new();
    let (mut start, mut sum, mut at) = (0, 0_u32, 0);
    while at < units.len() {
        let block = units[at..].iter().take_while(|unit| unit.block == units[at].block);
        let (length, tokens) = block.fold((0, 0_u32), |(n, sum), unit| (n + 1, sum.saturating_add(unit.tokens)));
        let headings_only = units[start..at].iter().all(|unit| unit.heading);
        if sum.saturating_add(tokens) <= limits.parent {
            sum += tokens;
            at += length;
            continue;
        }
        if !headings_only {
            cuts.push(start..at);
            (start, sum) = (at, 0);
            if tokens <= limits.parent {
                continue;
            }
        }
        for (index, unit) in units.iter().enumerate().skip(at).take(length) {
            if sum.saturating_add(unit.tokens) > limits.parent && index > start {
                cuts.push(start..index);
                (start, sum) = (index, 0);
            }
            sum = sum.saturating_add(unit.tokens);
        }
        at += length;
    }
    cuts.push(start..units.len());
    cuts
}

/// Sliding windows over units: each at most a child, beginning with what of the window before fits the overlap.
pub(super) fn windows(units: &[Unit], limits: Limits) -> Vec<Range<usize>> {
    let mut windows = Vec::new();
    let mut start = 0;
    while start < units.len() {
        let mut end = start + 1;
        let mut sum = units[start].tokens;
        while end < units.len() && units[end].group == units[start].group {
            let next = sum.saturating_add(units[end].tokens);
            if next > limits.child {
                break;
            }
            sum = next;
            end += 1;
        }
        windows.push(start..end);
        start = if end == units.len() { end } else { overlap_start(units, start, end, limits) };
    }
    windows
}

/// Where the window after `start..end` begins.
fn overlap_start(units: &[Unit], start: usize, end: usize, limits: Limits) -> usize {
    let next = &units[end];
    let room = limits.overlap.min(limits.child.saturating_sub(next.tokens));
    let (mut first, mut sum) = (end, 0);
    while first > start + 1 {
        let before = &units[first - 1];
        let joins = before.overlaps && next.overlaps && !before.heading && before.group == next.group;
        sum += before.tokens;
        if !joins || sum > room {
            break;
        }
        first -= 1;
    }
    first
}
