//! The best hits of a search, in a bounded heap.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// A found chunk by row keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    /// Score of the arm.
    pub(super) score: f32,
    /// The chunk's id as a number: the order of ties.
    pub(super) chunk: u128,
    /// Row key of its document.
    pub(super) document: u32,
    /// Its parent.
    pub(super) parent: u32,
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Candidate {
    /// Better is greater: higher score, then lower id.
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then_with(|| other.chunk.cmp(&self.chunk))
    }
}

/// Keeps the best `limit` candidates.
pub(super) struct Top {
    limit: usize,
    heap: BinaryHeap<Reverse<Candidate>>,
}

impl Top {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, heap: BinaryHeap::with_capacity(limit.min(1 << 16) + 1) }
    }

    /// Scores below cannot get in; equal ones may, by their id.
    pub(super) fn threshold(&self) -> f32 {
        if self.heap.len() < self.limit {
            return f32::MIN;
        }
        self.heap.peek().map_or(f32::MAX, |worst| worst.0.score)
    }

    pub(super) fn push(&mut self, candidate: Candidate) {
        if self.heap.len() < self.limit {
            self.heap.push(Reverse(candidate));
        } else if let Some(mut worst) = self.heap.peek_mut()
            && worst.0 < candidate
        {
            *worst = Reverse(candidate);
        }
    }

    /// Best first.
    pub(super) fn into_sorted(self) -> Vec<Candidate> {
        self.heap.into_sorted_vec().into_iter().map(|Reverse(candidate)| candidate).collect()
    }
}
