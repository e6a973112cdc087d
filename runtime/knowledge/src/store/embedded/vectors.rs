//! Giving chunks their vectors: which are pending, whose text needs embedding, what is stored.

use sqlx::Row as _;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use super::database::{Database, Write};
use super::rows::{self, json};
use crate::chunk::indexed_text;
use crate::embed::{EmbedKind, Embedder, EmbedderProfile, Probes};
use crate::identity::TextHash;
use crate::store::language::understands;
use crate::store::{EmbedProgress, StoreError};

const ACTION: &str = "give chunks their vectors";

/// What one batch writes.
#[derive(Default)]
pub(super) struct Batch {
    identity: String,
    /// Chunks that get a vector, by row key, with their text's hash.
    embedded: Vec<(i64, TextHash)>,
    never: Vec<i64>,
    fresh: BTreeMap<TextHash, Vec<f32>>,
    computed: u64,
    /// To be recorded with the embedder's first vectors.
    probes: Option<Probes>,
}

impl Batch {
    pub(super) fn progress(&self) -> EmbedProgress {
        EmbedProgress {
            embedded: self.computed,
            reused: self.embedded.len() as u64 - self.computed,
            skipped: self.never.len() as u64,
            remaining: 0,
        }
    }
}

struct Pending {
    key: i64,
    hash: TextHash,
    text: String,
}

/// Makes an embedder the revision's. Chunks embedded by another are pending again.
pub(super) async fn adopt(write: &mut Write, revision: i64, profile: &EmbedderProfile) -> Result<(), sqlx::Error> {
    sqlx::query("INSERT OR IGNORE INTO embedder (identity, dimensions) VALUES (?, ?)")
        .bind(&profile.identity)
        .bind(profile.dimensions as i64)
        .execute(&mut **write)
        .await?;
    sqlx::query("UPDATE revision SET embedder = (SELECT key FROM embedder WHERE identity = ?) WHERE key = ?")
        .bind(&profile.identity)
        .bind(revision)
        .execute(&mut **write)
        .await?;
    sqlx::query("UPDATE chunk SET vector_state = ? WHERE revision = ? AND vector_state <> ?1")
        .bind(rows::PENDING)
        .bind(revision)
        .execute(&mut **write)
        .await?;
    Ok(())
}

/// Takes up to `limit` pending chunks, newest files first, and finds or computes their vectors. Writes nothing.
pub(super) async fn gather(
    database: &Database,
    revision: i64,
    embedder: &dyn Embedder,
    limit: usize,
) -> Result<Batch, StoreError> {
    let profile = embedder.profile();
    let pending = take_pending(database, revision, limit).await?;
    let (understood, foreign): (Vec<_>, Vec<_>) =
        pending.into_iter().partition(|chunk| understands(profile, &chunk.text));
    let stored = stored(database, &profile.identity, &understood).await?;
    let missing: HashMap<TextHash, &str> = understood
        .iter()
        .filter(|chunk| !stored.contains(&chunk.hash))
        .map(|chunk| (chunk.hash, chunk.text.as_str()))
        .collect();
    let mut batch = Batch {
        identity: profile.identity.clone(),
        computed: understood.iter().filter(|chunk| missing.contains_key(&chunk.hash)).count() as u64,
        embedded: understood.iter().map(|chunk| (chunk.key, chunk.hash)).collect(),
        never: foreign.iter().map(|chunk| chunk.key).collect(),
        fresh: BTreeMap::new(),
        probes: None,
    };
    let missing: Vec<(TextHash, &str)> = missing.into_iter().collect();
    for part in missing.chunks(profile.max_batch.max(1)) {
        let texts: Vec<String> = part.iter().map(|(_, text)| (*text).to_owned()).collect();
        let vectors = embedder.embed(EmbedKind::Passage, &texts).await?;
        batch.fresh.extend(part.iter().map(|(hash, _)| *hash).zip(vectors));
    }
    if !batch.fresh.is_empty() {
        batch.probes = first_probes(database, embedder).await?;
    }
    Ok(batch)
}

/// Makes sure that what was just embedded is of the model that the stored vectors are of: asked afterwards, since a
/// model that is exchanged meanwhile is then seen as well. Gives the probes where none are recorded yet.
async fn first_probes(database: &Database, embedder: &dyn Embedder) -> Result<Option<Probes>, StoreError> {
    let Some(now) = embedder.probe(Duration::ZERO).await? else { return Ok(None) };
    let identity = &embedder.profile().identity;
    match rows::probes(database.readers(), identity).await.map_err(database.failed(ACTION))? {
        Some(recorded) => recorded.check(identity, &now).map(|()| None).map_err(StoreError::from),
        None => Ok(Some(now)),
    }
}

async fn record_probes(write: &mut Write, identity: &str, probes: &Probes) -> Result<(), sqlx::Error> {
    sqlx::query("UPDATE embedder SET probes = ? WHERE identity = ?")
        .bind(bytes(probes.0.iter().flatten()))
        .bind(identity)
        .execute(&mut **write)
        .await?;
    Ok(())
}

fn bytes<'a>(values: impl IntoIterator<Item = &'a f32>) -> Vec<u8> {
    values.into_iter().flat_map(|value| value.to_le_bytes()).collect()
}

async fn take_pending(database: &Database, revision: i64, limit: usize) -> Result<Vec<Pending>, StoreError> {
    let found = sqlx::query(
        "SELECT c.key, c.text_hash, c.context, \
         CAST(substr(CAST(p.text AS BLOB), c.first + 1, c.last - c.first) AS TEXT) \
         FROM chunk c JOIN parent p ON p.document = c.document AND p.ordinal = c.parent \
         WHERE c.revision = ? AND c.vector_state = 0 ORDER BY c.modified DESC, c.key LIMIT ?",
    )
    .bind(revision)
    .bind(limit as i64)
    .fetch_all(database.readers())
    .await
    .map_err(database.failed(ACTION))?;
    let pending = |row: &sqlx::sqlite::SqliteRow| Pending {
        key: row.get(0),
        hash: rows::text_hash(row.get(1)),
        text: indexed_text(row.get(2), row.get(3)),
    };
    Ok(found.iter().map(pending).collect())
}

async fn stored(database: &Database, identity: &str, chunks: &[Pending]) -> Result<HashSet<TextHash>, StoreError> {
    let hashes: Vec<String> = chunks.iter().map(|chunk| chunk.hash.to_string()).collect();
    let found: Vec<Vec<u8>> = sqlx::query_scalar(
        "SELECT v.text_hash FROM json_each(?) j JOIN vector v ON v.text_hash = unhex(j.value) \
         JOIN embedder e ON e.key = v.embedder WHERE e.identity = ?",
    )
    .bind(json(&hashes))
    .bind(identity)
    .fetch_all(database.readers())
    .await
    .map_err(database.failed(ACTION))?;
    Ok(found.iter().map(|hash| rows::text_hash(hash)).collect())
}

/// Writes a batch. Chunks that vanished or changed meanwhile are passed over.
pub(super) async fn store(write: &mut Write, generation: i64, batch: &Batch) -> Result<(), sqlx::Error> {
    if let Some(probes) = &batch.probes {
        record_probes(write, &batch.identity, probes).await?;
    }
    for (hash, vector) in &batch.fresh {
        sqlx::query(
            "INSERT OR IGNORE INTO vector (embedder, text_hash, data) \
             SELECT key, ?2, ?3 FROM embedder WHERE identity = ?1 AND EXISTS (SELECT 1 FROM chunk WHERE text_hash = ?2)",
        )
        .bind(&batch.identity)
        .bind(hash.0.as_slice())
        .bind(bytes(vector))
        .execute(&mut **write)
        .await?;
    }
    let embedded: Vec<(i64, String)> = batch.embedded.iter().map(|(key, hash)| (*key, hash.to_string())).collect();
    sqlx::query(
        "UPDATE chunk SET vector_state = 1, vector_generation = ?1 FROM json_each(?2) j \
         WHERE chunk.key = j.value ->> 0 AND chunk.text_hash = unhex(j.value ->> 1) AND EXISTS \
         (SELECT 1 FROM vector v JOIN embedder e ON e.key = v.embedder \
          WHERE v.text_hash = chunk.text_hash AND e.identity = ?3)",
    )
    .bind(generation)
    .bind(json(&embedded))
    .bind(&batch.identity)
    .execute(&mut **write)
    .await?;
    sqlx::query("UPDATE chunk SET vector_state = 2 FROM json_each(?) j WHERE chunk.key = j.value")
        .bind(json(&batch.never))
        .execute(&mut **write)
        .await?;
    Ok(())
}

/// Chunks still without a vector.
pub(super) async fn pending(database: &Database, revision: i64) -> Result<u64, StoreError> {
    let count: i64 = sqlx::query_scalar("SELECT count(*) FROM chunk WHERE revision = ? AND vector_state = 0")
        .bind(revision)
        .fetch_one(database.readers())
        .await
        .map_err(database.failed(ACTION))?;
    Ok(count as u64)
}
