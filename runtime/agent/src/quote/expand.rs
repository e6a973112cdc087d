use std::ops::Range;

use super::question::{opens_with_pronoun, wants_list};
use crate::segment::UnitKind;
use crate::terms::ReadUnit;

/// Longer lists are quoted by the chosen item alone.
const LONGEST_LIST: usize = 20;
const LONGEST_LIST_BYTES: usize = 2000;

/// Neighbouring units of one passage that are quoted together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pick {
    pub(super) passage: usize,
    pub(super) units: Range<usize>,
    /// What it counts against the answer's length.
    pub(super) sentences: usize,
    pub(super) is_list: bool,
}

impl Pick {
    /// Adds it to picks, of which no two share a unit. Those that it shares units with are quoted together with it, at
    /// the place of the first: the sentence before a pronoun may be quoted already, and so may items of a list.
    pub(super) fn join(mut self, picks: &mut Vec<Self>) {
        let Some(place) = picks.iter().position(|other| other.meets(&self)) else { return picks.push(self) };
        for other in picks.extract_if(.., |other| other.meets(&self)).collect::<Vec<_>>() {
            self.units = self.units.start.min(other.units.start)..self.units.end.max(other.units.end);
            self.is_list |= other.is_list;
        }
        self.sentences = if self.is_list { 1 } else { self.units.len() };
        picks.insert(place, self);
    }

    fn meets(&self, other: &Self) -> bool {
        self.passage == other.passage && self.units.start < other.units.end && other.units.start < self.units.end
    }

    pub(super) fn range(&self, units: &[ReadUnit]) -> Range<usize> {
        units[self.units.start].unit.range.start..units[self.units.end - 1].unit.range.end
    }

    pub(super) fn text(&self, units: &[ReadUnit]) -> String {
        let texts: Vec<&str> = units[self.units.clone()].iter().map(|read| read.unit.text.as_str()).collect();
        match texts.split_first() {
            Some((lead, items)) if self.is_list && leads(lead) => format!("{lead} {}", items.join("; ")),
            _ if self.is_list => texts.join("; "),
            _ => texts.join(" "),
        }
    }
}

/// The unit with what it cannot be understood without: the whole list where the question asks for one or the unit leads
/// into it, the sentence before where it opens with a pronoun. `room` bounds the sentences.
pub(super) fn expand(question: &str, passage: usize, unit: usize, units: &[ReadUnit], room: usize) -> Pick {
    let list = match units[unit].unit.kind {
        UnitKind::ListItem if wants_list(question) => whole_list(unit, units),
        UnitKind::Sentence if leads(&units[unit].unit.text) => {
            units.get(unit + 1).filter(|next| is_item(next)).and_then(|_| whole_list(unit + 1, units))
        }
        _ => None,
    };
    if let Some(units) = list {
        return Pick { passage, units, sentences: 1, is_list: true };
    }
    let points_back = units[unit].unit.kind == UnitKind::Sentence && opens_with_pronoun(&units[unit].unit.text);
    let before = unit.checked_sub(1).filter(|before| units[*before].unit.block == units[unit].unit.block);
    match before {
        Some(before) if points_back && room > 1 => {
            Pick { passage, units: before..unit + 1, sentences: 2, is_list: false }
        }
        _ => Pick { passage, units: unit..unit + 1, sentences: 1, is_list: false },
    }
}

fn is_item(read: &ReadUnit) -> bool {
    read.unit.kind == UnitKind::ListItem
}

fn leads(sentence: &str) -> bool {
    sentence.ends_with([':', '：'])
}

/// The list around `item`, with the sentence that leads into it; `None` where it is too long to quote.
fn whole_list(item: usize, units: &[ReadUnit]) -> Option<Range<usize>> {
    let same = |read: &&ReadUnit| is_item(read) && read.unit.block == units[item].unit.block;
    let first = item - units[..item].iter().rev().take_while(same).count();
    let end = item + units[item..].iter().take_while(same).count();
    let lead = first.checked_sub(1).filter(|lead| leads(&units[*lead].unit.text)).unwrap_or(first);
    let bytes = units[end - 1].unit.range.end - units[lead].unit.range.start;
    (end - first <= LONGEST_LIST && bytes <= LONGEST_LIST_BYTES).then_some(lead..end)
}
