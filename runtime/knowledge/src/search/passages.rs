//! From hits to what an answer is made of: neighbours joined, repetitions dropped, a token budget kept.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use super::{ArmHit, Hit};
use crate::document::Locator;
use crate::identity::ChunkId;
use crate::store::{DocumentSummary, ParentChunk, ParentText};

/// A contiguous piece of a document: a parent, neighbouring parents, or a part of one too large for the budget.
#[derive(Clone, Debug, PartialEq)]
pub struct SelectedPassage {
    /// The document.
    pub document: Arc<DocumentSummary>,
    /// Headings that all of it lies under.
    pub heading_path: Vec<String>,
    /// Where it lies in the original.
    pub locator: Locator,
    /// Byte offset in the body.
    pub offset: usize,
    /// Its text, verbatim.
    pub text: String,
    /// Upper bound of its size in cl100k tokens.
    pub tokens: u32,
    /// Score of its best hit.
    pub score: f32,
    /// Each arm's view of that hit.
    pub arms: Vec<ArmHit>,
    /// The chunks that matched, best hit first: id and bytes of `text`.
    pub matches: Vec<(ChunkId, Range<usize>)>,
    /// All chunks in it, in the order of the text, with ranges in `text`.
    pub chunks: Vec<ParentChunk>,
}

/// Takes hits, best first, while they fit into `token_budget`; drops those whose text another one has; joins
/// neighbouring parents of a document. Passages come by their best hit.
///
/// Where not even the best hit fits, its best chunk stands for it: a budget never leaves an answer without evidence.
pub fn select_passages(hits: &[Hit], token_budget: u32) -> Vec<SelectedPassage> {
    let mut texts = HashSet::new();
    let mut left = token_budget;
    let mut chosen: Vec<SelectedPassage> = Vec::new();
    for hit in hits.iter().filter(|hit| texts.insert(hit.parent.text.trim())) {
        if let Some(rest) = left.checked_sub(hit.parent.tokens) {
            left = rest;
            chosen.push(whole(hit));
        }
    }
    if chosen.is_empty() {
        chosen.extend(hits.first().and_then(best_chunk));
    }
    join_neighbours(chosen)
}

fn whole(hit: &Hit) -> SelectedPassage {
    part(hit, 0..hit.parent.text.len(), hit.parent.tokens)
}

fn best_chunk(hit: &Hit) -> Option<SelectedPassage> {
    let (_, range) = hit.chunks.first()?;
    let share = range.len() as f64 / hit.parent.text.len().max(1) as f64;
    Some(part(hit, range.clone(), (f64::from(hit.parent.tokens) * share).ceil() as u32))
}

fn part(hit: &Hit, range: Range<usize>, tokens: u32) -> SelectedPassage {
    let parent: &ParentText = &hit.parent;
    let inside = |chunk: &Range<usize>| range.start <= chunk.start && chunk.end <= range.end;
    let moved = |chunk: &Range<usize>| chunk.start - range.start..chunk.end - range.start;
    let chunk = |chunk: &ParentChunk| ParentChunk { range: moved(&chunk.range), ..chunk.clone() };
    SelectedPassage {
        document: Arc::clone(&parent.document),
        heading_path: parent.heading_path.clone(),
        locator: parent.locator.clone(),
        offset: parent.offset + range.start,
        text: parent.text[range.clone()].to_owned(),
        tokens,
        score: hit.score,
        arms: hit.arms.clone(),
        matches: hit.chunks.iter().filter(|(_, at)| inside(at)).map(|(id, at)| (*id, moved(at))).collect(),
        chunks: parent.chunks.iter().filter(|chunk| inside(&chunk.range)).map(chunk).collect(),
    }
}

/// Joins passages that touch in a document; the order is that of each group's best.
fn join_neighbours(chosen: Vec<SelectedPassage>) -> Vec<SelectedPassage> {
    let mut ranked: Vec<(usize, SelectedPassage)> = chosen.into_iter().enumerate().collect();
    ranked.sort_by_key(|(_, passage)| (passage.document.id, passage.offset));
    let mut joined: Vec<(usize, SelectedPassage)> = Vec::new();
    for (rank, passage) in ranked {
        match joined.last_mut() {
            Some((best, before)) if touches(before, &passage) => {
                append(before, passage, rank < *best);
                *best = rank.min(*best);
            }
            _ => joined.push((rank, passage)),
        }
    }
    joined.sort_by_key(|(rank, _)| *rank);
    joined.into_iter().map(|(_, passage)| passage).collect()
}

fn touches(before: &SelectedPassage, after: &SelectedPassage) -> bool {
    before.document.id == after.document.id
        && before.document.version == after.document.version
        && before.offset + before.text.len() == after.offset
        && spanning(&before.locator, &after.locator).is_some()
}

/// Which of two joined passages has the better hit decides whose score and arms the whole shows.
fn append(before: &mut SelectedPassage, after: SelectedPassage, after_is_better: bool) {
    let shift = before.text.len();
    let moved = |range: Range<usize>| range.start + shift..range.end + shift;
    if let Some(locator) = spanning(&before.locator, &after.locator) {
        before.locator = locator;
    }
    let common = before.heading_path.iter().zip(&after.heading_path).take_while(|(a, b)| a == b).count();
    before.heading_path.truncate(common);
    before.text.push_str(&after.text);
    before.tokens += after.tokens;
    before
        .chunks
        .extend(after.chunks.into_iter().map(|chunk| ParentChunk { range: moved(chunk.range.clone()), ..chunk }));
    let matches = after.matches.into_iter().map(|(id, range)| (id, moved(range)));
    if after_is_better {
        before.matches = matches.chain(std::mem::take(&mut before.matches)).collect();
        (before.score, before.arms) = (after.score, after.arms);
    } else {
        before.matches.extend(matches);
    }
}

/// The locator that covers two, `None` where no single one does (rows of different sheets).
fn spanning(a: &Locator, b: &Locator) -> Option<Locator> {
    match (a, b) {
        (Locator::Lines { first, last }, Locator::Lines { first: next, last: end }) => {
            Some(Locator::Lines { first: *first.min(next), last: *last.max(end) })
        }
        (Locator::Pages { first, last }, Locator::Pages { first: next, last: end }) => {
            Some(Locator::Pages { first: *first.min(next), last: *last.max(end) })
        }
        (Locator::Rows { sheet, first, last }, Locator::Rows { sheet: other, first: next, last: end })
            if sheet == other =>
        {
            Some(Locator::Rows { sheet: sheet.clone(), first: *first.min(next), last: *last.max(end) })
        }
        _ => None,
    }
}
