//! One arm: chunks fetched until they cover enough parents.

use std::collections::HashMap;
use std::future::Future;
use std::time::{Duration, Instant};

use super::Arm;
use crate::identity::ChunkId;
use crate::store::{ChunkHit, ParentKey, StoreError};

/// A parent as one arm found it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RankedParent {
    pub(super) key: ParentKey,
    /// Its best chunk's score.
    pub(super) score: f32,
    /// Its found chunks with their rank among all chunks of the arm, from 1, best first.
    pub(super) chunks: Vec<(ChunkId, u32)>,
}

/// What one arm found, best first.
#[derive(Clone, Debug)]
pub(super) struct ArmList {
    pub(super) arm: Arm,
    pub(super) weight: f32,
    pub(super) parents: Vec<RankedParent>,
    pub(super) elapsed: Duration,
}

/// Chunks asked for at first.
pub(super) fn first_limit(candidates: usize) -> usize {
    candidates.saturating_mul(2)
}

/// Asks for more and more chunks until they lie in `candidates` parents or there are no more.
pub(super) async fn fetch<F: Future<Output = Result<Vec<ChunkHit>, StoreError>>>(
    arm: Arm,
    candidates: usize,
    search: impl Fn(usize) -> F,
) -> Result<ArmList, StoreError> {
    let start = Instant::now();
    let first = search(first_limit(candidates)).await?;
    fetch_more((arm, start), candidates, first, search).await
}

/// The same from the first answer on, which was asked for at `start`.
pub(super) async fn fetch_more<F: Future<Output = Result<Vec<ChunkHit>, StoreError>>>(
    (arm, start): (Arm, Instant),
    candidates: usize,
    first: Vec<ChunkHit>,
    search: impl Fn(usize) -> F,
) -> Result<ArmList, StoreError> {
    let (mut hits, mut limit) = (first, first_limit(candidates));
    loop {
        let (exhausted, parents) = (hits.len() < limit, by_parent(&hits, candidates));
        if exhausted || parents.len() >= candidates {
            return Ok(ArmList { arm, weight: 1.0, parents, elapsed: start.elapsed() });
        }
        limit = limit.saturating_mul(2);
        hits = search(limit).await?;
    }
}

/// Groups chunks by parent in the order of each parent's best chunk.
pub(super) fn by_parent(hits: &[ChunkHit], candidates: usize) -> Vec<RankedParent> {
    let mut places: HashMap<ParentKey, usize> = HashMap::with_capacity(candidates.min(hits.len()));
    let mut parents: Vec<RankedParent> = Vec::with_capacity(candidates.min(hits.len()));
    for (index, hit) in hits.iter().enumerate() {
        let chunk = (hit.chunk, index as u32 + 1);
        match places.get(&hit.parent) {
            Some(&place) => parents[place].chunks.push(chunk),
            None if parents.len() < candidates => {
                places.insert(hit.parent, parents.len());
                parents.push(RankedParent { key: hit.parent, score: hit.score, chunks: vec![chunk] });
            }
            None => {}
        }
    }
    parents
}
