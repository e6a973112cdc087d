//! Searching a collection.
//!
//! A chunk's keyword score is its own plus its parent's, and the two are vectors of different points, each with the
//! statistics of its kind. Both lists are asked for in one request; what one has and the other lacks is looked up in a
//! second; and the best are known once no chunk outside both lists can reach them: the threshold algorithm of Fagin,
//! Lotem and Naor, "Optimal aggregation algorithms for middleware", PODS 2001.

use qdrant_client::qdrant::{
    BatchResult, Condition, Filter, Query, QueryPoints, QueryPointsBuilder, ScoredPoint, SearchParamsBuilder,
    SparseVector, VectorInput,
};
use std::collections::{HashMap, HashSet};
use uuid::Uuid;

use super::Accuracy;
use super::collection::{Collection, DENSE, KEYWORDS, PARENT_KEYWORDS, include};
use super::filter;
use super::payload::{self, ChunkPlace};
use crate::identity::{ChunkId, DocumentId};
use crate::store::{ChunkHit, StoreError};

const KEYWORD_ACTION: &str = "search the keywords";
const VECTOR_ACTION: &str = "search the vectors";
/// Depth of the lists at first.
const LEAST_DEPTH: u64 = 64;
/// Depth at which what was found is good enough.
const MOST_DEPTH: u64 = 16_384;
/// Chunks of a parent that are looked up at most, on average.
const CHUNKS_A_PARENT: u64 = 32;
/// Low bits of a score that are rounded away: equal texts may be added up in another order.
const ROUNDED_BITS: u32 = 5;

/// A chunk on its way into the result.
struct Found {
    place: ChunkPlace,
    score: f32,
}

/// The best chunks by keywords.
pub(super) async fn keywords(
    collection: &Collection,
    vector: &SparseVector,
    visible: &Filter,
    limit: usize,
) -> Result<Vec<ChunkHit>, StoreError> {
    let search = Search { collection, vector, visible, depth: first_depth(limit) };
    let lists = results(collection.query(KEYWORD_ACTION, search.queries()).await?);
    keywords_from(search, lists, limit).await
}

/// The best chunks by keywords and by cosine, of which the first lists come in one answer.
pub(super) async fn both(
    collection: &Collection,
    (sparse, dense): (&SparseVector, &[f32]),
    (visible, accuracy): (&Filter, Accuracy),
    limit: usize,
) -> Result<(Vec<ChunkHit>, Vec<ChunkHit>), StoreError> {
    let search = Search { collection, vector: sparse, visible, depth: first_depth(limit) };
    let depth = limit as u64 + 1;
    let mut queries = search.queries();
    queries.push(dense_query(collection, dense, (visible, accuracy), depth));
    let [chunks, parents, list] = results(collection.query("search both arms", queries).await?);
    let by_cosine = async {
        match dense_hits(list, depth, limit)? {
            Some(hits) => Ok(hits),
            None => vectors(collection, dense, (visible, accuracy), limit).await,
        }
    };
    futures::try_join!(keywords_from(search, [chunks, parents], limit), by_cosine)
}

fn first_depth(limit: usize) -> u64 {
    (limit as u64).saturating_mul(2).max(LEAST_DEPTH)
}

/// Goes deeper until the best are known.
async fn keywords_from(
    mut search: Search<'_>,
    mut lists: [Vec<ScoredPoint>; 2],
    limit: usize,
) -> Result<Vec<ChunkHit>, StoreError> {
    loop {
        let (hits, exact) = search.merge(lists, limit).await?;
        if exact || search.depth >= MOST_DEPTH.max(limit as u64) {
            return Ok(hits);
        }
        search.depth *= 4;
        lists = results(search.collection.query(KEYWORD_ACTION, search.queries()).await?);
    }
}

struct Search<'a> {
    collection: &'a Collection,
    vector: &'a SparseVector,
    visible: &'a Filter,
    depth: u64,
}

impl Search<'_> {
    /// Asks for the lists of chunks and of parents.
    fn queries(&self) -> Vec<QueryPoints> {
        vec![self.query(KEYWORDS, None, self.depth), self.query(PARENT_KEYWORDS, None, self.depth)]
    }

    /// The best as far as lists of this depth tell, and whether no others can be better.
    async fn merge(
        &self,
        [chunk_list, parent_list]: [Vec<ScoredPoint>; 2],
        limit: usize,
    ) -> Result<(Vec<ChunkHit>, bool), StoreError> {
        let (chunks_full, parents_full) =
            (chunk_list.len() as u64 == self.depth, parent_list.len() as u64 == self.depth);
        let lowest = |list: &[ScoredPoint], full| if full { list.last().map_or(0.0, |point| point.score) } else { 0.0 };
        let outside = lowest(&chunk_list, chunks_full) + lowest(&parent_list, parents_full);
        let mut parents: HashMap<Uuid, f32> = parent_list.into_iter().filter_map(scored).collect();
        let mut chunks = HashMap::new();
        add(&mut chunks, chunk_list)?;
        let wanted: Vec<Uuid> = chunks
            .values()
            .map(|found| payload::parent_point(found.place.key()))
            .filter(|parent| parents_full && !parents.contains_key(parent))
            .collect::<HashSet<_>>()
            .into_iter()
            .collect();
        let complete = self.complete((wanted, chunks_full), &mut chunks, &mut parents).await?;
        let hits =
            best(chunks, |place| parents.get(&payload::parent_point(place.key())).copied().unwrap_or(0.0), limit);
        let reached = limit == 0 || hits.get(limit - 1).is_some_and(|hit| hit.score > outside);
        Ok((hits, !chunks_full || (complete && reached)))
    }

    /// Looks up the scores of parents that only their chunks brought, and of chunks that only their parents brought.
    /// Gives whether all of these were found.
    async fn complete(
        &self,
        (wanted, chunks_full): (Vec<Uuid>, bool),
        chunks: &mut HashMap<Uuid, Found>,
        parents: &mut HashMap<Uuid, f32>,
    ) -> Result<bool, StoreError> {
        let (mut queries, mut limit) = (Vec::new(), 0);
        if !wanted.is_empty() {
            let count = wanted.len() as u64;
            let ids = Condition::has_id(wanted.iter().map(|&id| payload::point_id(id)));
            queries.push(self.query(PARENT_KEYWORDS, Some(ids), count));
        }
        if chunks_full && !parents.is_empty() {
            limit = parents.len() as u64 * CHUNKS_A_PARENT;
            let inside = filter::any_id("parent_point", parents.keys().copied());
            queries.push(self.query(KEYWORDS, Some(inside), limit));
        }
        if queries.is_empty() {
            return Ok(true);
        }
        let mut answers = self.collection.query(KEYWORD_ACTION, queries).await?.into_iter();
        if !wanted.is_empty() {
            parents.extend(answers.next().unwrap_or_default().result.into_iter().filter_map(scored));
        }
        let more = answers.next().unwrap_or_default().result;
        let complete = limit == 0 || (more.len() as u64) < limit;
        add(chunks, more)?;
        Ok(complete)
    }

    fn query(&self, using: &str, also: Option<Condition>, limit: u64) -> QueryPoints {
        let mut filter = self.visible.clone();
        filter.must.extend(also);
        let input = VectorInput::new_sparse(self.vector.indices.clone(), self.vector.values.clone());
        QueryPointsBuilder::new(self.collection.name())
            .query(Query::new_nearest(input))
            .using(using)
            .filter(filter)
            .limit(limit)
            .with_payload(include(&ChunkPlace::FIELDS))
            .build()
    }
}

/// The best chunks by cosine.
pub(super) async fn vectors(
    collection: &Collection,
    vector: &[f32],
    (visible, accuracy): (&Filter, Accuracy),
    limit: usize,
) -> Result<Vec<ChunkHit>, StoreError> {
    let mut depth = limit as u64 + 1;
    loop {
        let query = dense_query(collection, vector, (visible, accuracy), depth);
        let [list] = results(collection.query(VECTOR_ACTION, vec![query]).await?);
        let last = depth >= MOST_DEPTH.max(limit as u64);
        if let Some(hits) = dense_hits(list, if last { u64::MAX } else { depth }, limit)? {
            return Ok(hits);
        }
        depth *= 2;
    }
}

fn dense_query(
    collection: &Collection,
    vector: &[f32],
    (visible, accuracy): (&Filter, Accuracy),
    depth: u64,
) -> QueryPoints {
    let params = match accuracy {
        Accuracy::Exact => SearchParamsBuilder::default().exact(true),
        Accuracy::Approximate { beam } => SearchParamsBuilder::default().hnsw_ef(beam.into()),
    };
    QueryPointsBuilder::new(collection.name())
        .query(Query::new_nearest(vector.to_vec()))
        .using(DENSE)
        .filter(visible.clone())
        .limit(depth)
        .params(params)
        .with_payload(include(&ChunkPlace::FIELDS))
        .build()
}

/// The best of a list; none where it ends in a tie with the last of them, which ids decide: the server does not look at
/// those.
fn dense_hits(list: Vec<ScoredPoint>, depth: u64, limit: usize) -> Result<Option<Vec<ChunkHit>>, StoreError> {
    let score = |at: Option<usize>| at.and_then(|at| list.get(at)).map(|point| point.score);
    let tied = score(limit.checked_sub(1)) == score(list.len().checked_sub(1));
    if list.len() as u64 >= depth && tied {
        return Ok(None);
    }
    let mut chunks = HashMap::new();
    add(&mut chunks, list)?;
    Ok(Some(best(chunks, |_| 0.0, limit)))
}

fn results<const N: usize>(answers: Vec<BatchResult>) -> [Vec<ScoredPoint>; N] {
    let mut answers = answers.into_iter();
    std::array::from_fn(|_| answers.next().unwrap_or_default().result)
}

fn scored(point: ScoredPoint) -> Option<(Uuid, f32)> {
    Some((payload::uuid(point.id)?, point.score))
}

fn add(chunks: &mut HashMap<Uuid, Found>, points: Vec<ScoredPoint>) -> Result<(), StoreError> {
    for point in points {
        let Some(id) = payload::uuid(point.id) else { continue };
        let place = payload::parsed(KEYWORD_ACTION, point.payload)?;
        chunks.insert(id, Found { place, score: point.score });
    }
    Ok(())
}

/// The best, ties by id. Between the two halves of a document's update both versions are there: the lower is dropped.
fn best(chunks: HashMap<Uuid, Found>, also: impl Fn(&ChunkPlace) -> f32, limit: usize) -> Vec<ChunkHit> {
    let mut newest: HashMap<DocumentId, u32> = HashMap::new();
    for found in chunks.values() {
        let version = newest.entry(found.place.document).or_default();
        *version = found.place.version.max(*version);
    }
    let current = |found: &Found| newest.get(&found.place.document) == Some(&found.place.version);
    let hit = |(id, found): (Uuid, Found)| ChunkHit {
        chunk: ChunkId(id),
        parent: found.place.key(),
        score: rounded(found.score + also(&found.place)),
    };
    let mut hits: Vec<_> = chunks.into_iter().filter(|(_, found)| current(found)).map(hit).collect();
    hits.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then(a.chunk.cmp(&b.chunk)));
    hits.truncate(limit);
    hits
}

fn rounded(score: f32) -> f32 {
    let half = 1 << (ROUNDED_BITS - 1);
    f32::from_bits((score.to_bits() + half) & !((1 << ROUNDED_BITS) - 1))
}
