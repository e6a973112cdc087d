//! Joining the arms' lists.

use groundwork_config::Fusion;
use std::collections::HashMap;

use super::ArmHit;
use super::arm::{ArmList, RankedParent};
use crate::identity::ChunkId;
use crate::store::ParentKey;

/// Constant by which a chunk's ranks in the arms are joined within a hit: the one of the reciprocal rank fusion paper.
const CHUNK_RRF_K: f32 = 60.0;

/// A parent with its joined score.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fused {
    pub(super) key: ParentKey,
    pub(super) score: f32,
    pub(super) arms: Vec<ArmHit>,
    /// Found chunks with their joined shares, as they were met: [`best_first`] orders them.
    pub(super) chunks: Vec<(ChunkId, f32)>,
}

/// The chunks of a parent in order. Only what is shown needs it, of the hundreds that are joined.
pub(super) fn best_first(mut chunks: Vec<(ChunkId, f32)>) -> impl Iterator<Item = ChunkId> {
    chunks.sort_by(|(a, score), (b, other)| other.total_cmp(score).then_with(|| a.cmp(b)));
    chunks.into_iter().map(|(chunk, _)| chunk)
}

/// Joins lists, best first; ties by document and position. Each list is best first.
pub(super) fn fuse(lists: &[ArmList], fusion: Fusion) -> Vec<Fused> {
    let size = lists.iter().map(|list| list.parents.len()).sum();
    let mut places: HashMap<ParentKey, usize> = HashMap::with_capacity(size);
    let mut fused: Vec<Fused> = Vec::with_capacity(size);
    for list in lists {
        let scale = Scale::of(&list.parents);
        for (index, parent) in list.parents.iter().enumerate() {
            let rank = index as u32 + 1;
            let share = match fusion {
                Fusion::RelativeScore => scale.apply(parent.score),
                Fusion::Rrf { k } => 1.0 / (k + rank) as f32,
            };
            let place = *places.entry(parent.key).or_insert_with(|| {
                fused.push(Fused { key: parent.key, score: 0.0, arms: Vec::new(), chunks: Vec::new() });
                fused.len() - 1
            });
            let entry = &mut fused[place];
            entry.score += list.weight * share;
            entry.arms.push(ArmHit { arm: list.arm, rank, score: parent.score });
            join_chunks(&mut entry.chunks, parent, list.weight);
        }
    }
    fused.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.key.cmp(&b.key)));
    fused
}

fn join_chunks(chunks: &mut Vec<(ChunkId, f32)>, parent: &RankedParent, weight: f32) {
    for &(chunk, rank) in &parent.chunks {
        let share = weight / (CHUNK_RRF_K + rank as f32);
        match chunks.iter_mut().find(|(known, _)| *known == chunk) {
            Some((_, score)) => *score += share,
            None => chunks.push((chunk, share)),
        }
    }
}

/// Min-max scaling of one arm's scores to 0..1; a list whose scores are all equal scales to 1.
struct Scale {
    least: f32,
    spread: f32,
}

impl Scale {
    fn of(parents: &[RankedParent]) -> Self {
        let most = parents.first().map_or(0.0, |best| best.score);
        let least = parents.last().map_or(0.0, |worst| worst.score);
        Self { least, spread: most - least }
    }

    fn apply(&self, score: f32) -> f32 {
        if self.spread > 0.0 { (score - self.least) / self.spread } else { 1.0 }
    }
}
