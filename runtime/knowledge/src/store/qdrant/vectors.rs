//! Giving chunks their vectors.

use qdrant_client::qdrant::{Filter, PointVectors, RetrievedPoint};
use sqlx::Row as _;
use std::collections::{HashMap, HashSet};
use uuid::Uuid;

use super::collection::{DENSE, Wanted};
use super::filter;
use super::maintainer::QdrantMaintainer;
use super::payload::{self, Kind};
use super::points::{dense_vector, named};
use crate::chunk::indexed_text;
use crate::embed::Embedder;
use crate::identity::{ChunkId, TextHash};
use crate::store::state::database::engine;
use crate::store::state::rows::{self, json};
use crate::store::state::vectors::{self as state, Batch, Pending};
use crate::store::{EmbedProgress, StoreError};

const ACTION: &str = "give chunks their vectors";

/// Vectors of texts.
type Stored = HashMap<TextHash, Vec<f32>>;

impl QdrantMaintainer {
    /// Gives up to `limit` pending chunks their vectors.
    pub(super) async fn embed(&self, embedder: &dyn Embedder, limit: usize) -> Result<EmbedProgress, StoreError> {
        let database = self.database()?;
        self.check_lease(ACTION).await?;
        self.adopt(embedder).await?;
        let (pending, ids) = self.pending(limit).await?;
        let mut stored = Stored::new();
        let identity = &embedder.profile().identity;
        let batch = state::compute(database, embedder, pending, async |chunks| {
            stored = self.stored(identity, chunks).await?;
            Ok(stored.keys().copied().collect())
        })
        .await?;
        let progress = batch.progress();
        if progress != EmbedProgress::default() {
            self.store(&batch, &ids, &stored).await?;
        }
        let remaining = state::pending(database, self.key).await?;
        Ok(EmbedProgress { remaining, ..progress })
    }

    /// Makes `embedder` the one of this revision; where another was, its vectors go, and all are pending again.
    async fn adopt(&self, embedder: &dyn Embedder) -> Result<(), StoreError> {
        let action = "set the embedder";
        let database = self.database()?;
        let failed = database.failed(action);
        let profile = embedder.profile();
        let mut read = database.readers().acquire().await.map_err(&failed)?;
        let known = rows::embedder(&mut read, self.key).await.map_err(&failed)?;
        drop(read);
        if known.as_ref().is_some_and(|(_, known)| known.identity == profile.identity) {
            return Ok(());
        }
        let expected = (self.shared.options.dimensions)(&self.contract.embedding);
        if expected.map(|length| length as usize) != Some(profile.dimensions) {
            let reason = format!("its vectors have {} dimensions, the collection {expected:?}", profile.dimensions);
            return Err(engine(action, reason));
        }
        let _writing = self.shared.writing.lock().await;
        self.check_lease(action).await?;
        if known.is_some() {
            self.collection.delete_dense(action, Filter::must([filter::kind(Kind::Chunk)])).await?;
        }
        let mut write = self.begin(action).await?;
        state::adopt(&mut write, self.key, &profile.identity, profile.dimensions).await.map_err(&failed)?;
        fail::fail_point!("store::set_embedder::before");
        database.commit(action, write).await?;
        fail::fail_point!("store::set_embedder::after");
        self.publish().await
    }

    /// Chunks that wait, newest files first, with their text from the collection and the ids of their points.
    async fn pending(&self, limit: usize) -> Result<(Vec<Pending>, HashMap<i64, ChunkId>), StoreError> {
        let database = self.database()?;
        let found = sqlx::query(
            "SELECT key, id, text_hash FROM chunk WHERE revision = ? AND vector_state = 0 \
             ORDER BY modified DESC, key LIMIT ?",
        )
        .bind(self.key)
        .bind(limit as i64)
        .fetch_all(database.readers())
        .await
        .map_err(database.failed(ACTION))?;
        let ids: HashMap<i64, ChunkId> = found.iter().map(|row| (row.get(0), rows::chunk_id(row.get(1)))).collect();
        let points = ids.values().map(|id| payload::point_id(id.0)).collect();
        let points = self.collection.get(ACTION, points, Wanted::Fields(&["text", "context"])).await?;
        let texts: HashMap<Uuid, String> = points.into_iter().filter_map(text).collect();
        let mut pending = Vec::with_capacity(found.len());
        for row in &found {
            let id = rows::chunk_id(row.get(1));
            let text = texts.get(&id.0).ok_or_else(|| engine(ACTION, format!("the collection has no chunk {id}")))?;
            pending.push(Pending { key: row.get(0), hash: rows::text_hash(row.get(2)), text: text.clone() });
        }
        Ok((pending, ids))
    }

    /// Vectors of these texts that a chunk of any revision with this embedder has.
    async fn stored(&self, identity: &str, chunks: &[Pending]) -> Result<Stored, StoreError> {
        let database = self.database()?;
        let hashes: HashSet<String> = chunks.iter().map(|chunk| chunk.hash.to_string()).collect();
        let found = sqlx::query(
            "SELECT c.text_hash, min(c.id), r.hash FROM json_each(?) j JOIN chunk c ON c.text_hash = unhex(j.value) \
             JOIN revision r ON r.key = c.revision JOIN embedder e ON e.key = r.embedder \
             WHERE e.identity = ? AND c.vector_state = 1 GROUP BY c.text_hash, r.hash",
        )
        .bind(json(&hashes))
        .bind(identity)
        .fetch_all(database.readers())
        .await
        .map_err(database.failed(ACTION))?;
        let mut places: HashMap<&str, HashMap<Uuid, TextHash>> = HashMap::new();
        for row in &found {
            let of_revision = places.entry(row.get(2)).or_default();
            of_revision.insert(rows::chunk_id(row.get(1)).0, rows::text_hash(row.get(0)));
        }
        let mut stored = Stored::new();
        for (revision, chunks) in places {
            let collection = self.shared.collection(&self.shared.collection_name(revision));
            let ids = chunks.keys().map(|&id| payload::point_id(id)).collect();
            for point in collection.get(ACTION, ids, Wanted::Dense(&["kind"])).await? {
                let vector = payload::dense(point.vectors.as_ref(), DENSE);
                if let Some(hash) = payload::uuid(point.id).and_then(|id| chunks.get(&id))
                    && !vector.is_empty()
                {
                    stored.insert(*hash, vector);
                }
            }
        }
        Ok(stored)
    }

    /// Writes a batch. Chunks that vanished or changed meanwhile are passed over.
    async fn store(&self, batch: &Batch, ids: &HashMap<i64, ChunkId>, stored: &Stored) -> Result<(), StoreError> {
        let action = "write vectors";
        let database = self.database()?;
        let failed = database.failed(action);
        let _writing = self.shared.writing.lock().await;
        self.check_lease(action).await?;
        let waiting = self.waiting(batch).await?;
        let update = |(key, hash): &(i64, TextHash)| {
            let vector = batch.fresh.get(hash).or_else(|| stored.get(hash))?;
            let id = ids.get(key).filter(|_| waiting.contains(key))?;
            let vectors = named(HashMap::from([(DENSE.to_owned(), dense_vector(vector.clone()))]));
            Some(PointVectors { id: Some(payload::point_id(id.0)), vectors: Some(vectors) })
        };
        self.collection.set_vectors(action, batch.embedded.iter().filter_map(update).collect()).await?;
        fail::fail_point!("store::set_vectors::after");
        let mut write = self.begin(action).await?;
        if let Some(probes) = &batch.probes {
            state::record_probes(&mut write, &batch.identity, probes).await.map_err(&failed)?;
        }
        let embedded: Vec<i64> = batch.embedded.iter().map(|(key, _)| *key).collect();
        for (state, keys) in [(rows::EMBEDDED, &embedded), (rows::NEVER, &batch.never)] {
            sqlx::query(
                "UPDATE chunk SET vector_state = ?1 WHERE vector_state = 0 AND key IN \
                 (SELECT value FROM json_each(?2))",
            )
            .bind(state)
            .bind(json(keys))
            .execute(&mut *write)
            .await
            .map_err(&failed)?;
        }
        fail::fail_point!("store::write_vectors::before");
        database.commit(action, write).await?;
        fail::fail_point!("store::write_vectors::after");
        self.publish().await
    }

    /// Those of the batch that wait still: a chunk that is written again gets another row.
    async fn waiting(&self, batch: &Batch) -> Result<HashSet<i64>, StoreError> {
        let database = self.database()?;
        let keys: Vec<i64> = batch.embedded.iter().map(|(key, _)| *key).collect();
        let found: Vec<i64> = sqlx::query_scalar(
            "SELECT key FROM chunk WHERE vector_state = 0 AND key IN (SELECT value FROM json_each(?))",
        )
        .bind(json(&keys))
        .fetch_all(database.readers())
        .await
        .map_err(database.failed(ACTION))?;
        Ok(found.into_iter().collect())
    }
}

fn text(point: RetrievedPoint) -> Option<(Uuid, String)> {
    let field = |name: &str| Some(point.payload.get(name)?.as_str()?.as_str());
    let text = indexed_text(field("context")?, field("text")?);
    Some((payload::uuid(point.id.clone())?, text))
}
