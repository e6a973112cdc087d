//! Columns as values, and what is counted of a revision.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sqlx::SqliteConnection;
use uuid::Uuid;

use crate::embed::Probes;
use crate::identity::{ChunkId, DocumentId, TextHash};
use crate::store::Counts;

/// States of a chunk's vector.
pub(in crate::store) const PENDING: i64 = 0;
/// It has one.
pub(in crate::store) const EMBEDDED: i64 = 1;
/// It never gets one.
pub(in crate::store) const NEVER: i64 = 2;

/// A value as JSON, for lists in columns and parameters.
pub(in crate::store) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("lists of plain values can be written as JSON")
}

/// A column of JSON.
pub(in crate::store) fn parsed<T: DeserializeOwned>(text: &str) -> Result<T, sqlx::Error> {
    serde_json::from_str(text).map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

/// A chunk's id from its bytes.
pub(in crate::store) fn chunk_id(bytes: &[u8]) -> ChunkId {
    ChunkId(uuid(bytes))
}

/// A chunk's id from its bytes, as the number that derived files keep.
pub(in crate::store) fn chunk_number(bytes: &[u8]) -> u128 {
    uuid(bytes).as_u128()
}

/// A document's id from its bytes.
pub(in crate::store) fn document_id(bytes: &[u8]) -> DocumentId {
    DocumentId(uuid(bytes))
}

fn uuid(bytes: &[u8]) -> Uuid {
    Uuid::from_slice(bytes).unwrap_or_default()
}

/// A hash from its bytes.
pub(in crate::store) fn text_hash(bytes: &[u8]) -> TextHash {
    TextHash(bytes.try_into().unwrap_or_default())
}

/// How far the revision is.
pub(in crate::store) async fn counts(read: &mut SqliteConnection, revision: i64) -> Result<Counts, sqlx::Error> {
    let (documents, failed): (i64, i64) = sqlx::query_as(
        "SELECT COALESCE(sum(version > 0), 0), COALESCE(sum(failure IS NOT NULL), 0) FROM document WHERE revision = ?",
    )
    .bind(revision)
    .fetch_one(&mut *read)
    .await?;
    let states: Vec<(i64, i64)> =
        sqlx::query_as("SELECT vector_state, count(*) FROM chunk WHERE revision = ? GROUP BY vector_state")
            .bind(revision)
            .fetch_all(read)
            .await?;
    let of = |wanted| states.iter().filter(|(state, _)| *state == wanted).map(|(_, count)| *count as u64).sum();
    Ok(Counts {
        documents: documents as u64,
        chunks: states.iter().map(|(_, count)| *count as u64).sum(),
        vectors: of(EMBEDDED),
        without_vector: of(NEVER),
        failed: failed as u64,
    })
}

/// Which vectors a revision has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::store) struct Embedded {
    /// Identity of their embedder.
    pub(in crate::store) identity: String,
    /// Their length.
    pub(in crate::store) dimensions: usize,
}

/// The embedder whose vectors the revision has: its key, identity and dimensions.
pub(in crate::store) async fn embedder(
    read: &mut SqliteConnection,
    revision: i64,
) -> Result<Option<(i64, Embedded)>, sqlx::Error> {
    let row: Option<(i64, String, i64)> = sqlx::query_as(
        "SELECT e.key, e.identity, e.dimensions FROM revision r JOIN embedder e ON e.key = r.embedder WHERE r.key = ?",
    )
    .bind(revision)
    .fetch_optional(read)
    .await?;
    Ok(row.map(|(key, identity, dimensions)| (key, Embedded { identity, dimensions: dimensions as usize })))
}

/// The probes recorded with an embedder's vectors, by its identity.
pub(in crate::store) async fn probes(
    read: impl sqlx::SqliteExecutor<'_>,
    identity: &str,
) -> Result<Option<Probes>, sqlx::Error> {
    let row: Option<(i64, Option<Vec<u8>>)> =
        sqlx::query_as("SELECT dimensions, probes FROM embedder WHERE identity = ?")
            .bind(identity)
            .fetch_optional(read)
            .await?;
    let Some((dimensions, Some(bytes))) = row else { return Ok(None) };
    let (values, _) = bytes.as_chunks();
    let values: Vec<f32> = values.iter().map(|value| f32::from_le_bytes(*value)).collect();
    Ok(Some(Probes(values.chunks(dimensions.max(1) as usize).map(<[f32]>::to_vec).collect())))
}
