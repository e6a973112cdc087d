//! Vectors in the store's file: which pending texts have one, and writing a batch.

use sqlx::Row as _;
use std::collections::HashSet;

use crate::chunk::indexed_text;
use crate::embed::Embedder;
use crate::identity::TextHash;
use crate::store::StoreError;
use crate::store::state::database::{Database, Write};
use crate::store::state::rows::{self, json};
use crate::store::state::vectors::{Batch, Pending, bytes, compute, record_probes};

const ACTION: &str = "give chunks their vectors";

/// Takes up to `limit` pending chunks, newest files first, and finds or computes their vectors. Writes nothing.
pub(super) async fn gather(
    database: &Database,
    revision: i64,
    embedder: &dyn Embedder,
    limit: usize,
) -> Result<Batch, StoreError> {
    let pending = take_pending(database, revision, limit).await?;
    let identity = &embedder.profile().identity;
    compute(database, embedder, pending, async |chunks| stored(database, identity, chunks).await).await
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
