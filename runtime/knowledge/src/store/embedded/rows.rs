//! Rows of the store's file as values, and the statements that more than one part reads them with.

use futures::TryStreamExt;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection};
use std::sync::Arc;
use uuid::Uuid;

use super::catalog::Entry;
use super::matrix::Embedded;
use crate::document::{Format, Metadata};
use crate::embed::Probes;
use crate::identity::{ChunkId, DocumentId, TextHash};
use crate::store::{Counts, DocumentSummary, ParentChunk, ParentKey, ParentText};

/// States of a chunk's vector.
pub(super) const PENDING: i64 = 0;
/// It has one.
pub(super) const EMBEDDED: i64 = 1;
/// It never gets one.
pub(super) const NEVER: i64 = 2;

/// A value as JSON, for lists in columns and parameters.
pub(super) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("lists of plain values can be written as JSON")
}

/// A column of JSON.
pub(super) fn parsed<T: DeserializeOwned>(text: &str) -> Result<T, sqlx::Error> {
    serde_json::from_str(text).map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

/// A chunk's id from its bytes.
pub(super) fn chunk_id(bytes: &[u8]) -> ChunkId {
    ChunkId(uuid(bytes))
}

/// A chunk's id from its bytes, as the number that derived files keep.
pub(super) fn chunk_number(bytes: &[u8]) -> u128 {
    uuid(bytes).as_u128()
}

/// A document's id from its bytes.
pub(super) fn document_id(bytes: &[u8]) -> DocumentId {
    DocumentId(uuid(bytes))
}

fn uuid(bytes: &[u8]) -> Uuid {
    Uuid::from_slice(bytes).unwrap_or_default()
}

/// A hash from its bytes.
pub(super) fn text_hash(bytes: &[u8]) -> TextHash {
    TextHash(bytes.try_into().unwrap_or_default())
}

/// How far the revision is.
pub(super) async fn counts(read: &mut SqliteConnection, revision: i64) -> Result<Counts, sqlx::Error> {
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

/// The embedder whose vectors the revision has: its key, identity and dimensions.
pub(super) async fn embedder(
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
pub(super) async fn probes(read: impl sqlx::SqliteExecutor<'_>, identity: &str) -> Result<Option<Probes>, sqlx::Error> {
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

/// Documents that can be found and changed after generation `from`. They come as lists in JSON, for a row costs more on
/// its way through the driver than its text.
pub(super) async fn entries(read: &mut SqliteConnection, revision: i64, from: i64) -> Result<Vec<Entry>, sqlx::Error> {
    let mut pages = sqlx::query_scalar::<_, String>(
        "SELECT json_group_array(json_array(key, hex(id), source, path, version, title, json(format), date, json(tags), \
         json(access), failure IS NOT NULL, chunks, bytes)) \
         FROM document WHERE revision = ? AND generation > ? AND version > 0 GROUP BY key / 1000",
    )
    .bind(revision)
    .bind(from)
    .fetch(read);
    let mut entries = Vec::new();
    while let Some(page) = pages.try_next().await? {
        entries.extend(parsed::<Vec<EntryRow>>(&page)?.into_iter().map(entry));
    }
    Ok(entries)
}

/// A document in a page of [`entries`], its columns in that order.
#[derive(Deserialize)]
struct EntryRow(
    u32,
    String,
    String,
    String,
    u32,
    String,
    Option<Format>,
    Option<jiff::civil::Date>,
    Vec<String>,
    Option<Vec<String>>,
    u8,
    u32,
    u64,
);

fn entry(row: EntryRow) -> Entry {
    let EntryRow(key, id, source, path, version, title, format, date, tags, access, failed, chunks, bytes) = row;
    let summary = DocumentSummary {
        id: DocumentId(id.parse().unwrap_or_default()),
        source,
        path,
        title,
        format: format.unwrap_or(Format::Text),
        metadata: Metadata { date, tags },
        version,
        stale: failed == 1,
        chunks,
        bytes,
    };
    let location = format!("{}/{}", summary.source, summary.path);
    Entry { key, location, access, summary: Arc::new(summary) }
}

/// Parents by row key of their document and ordinal, in any order; vanished ones are left out.
pub(super) async fn parents(
    read: impl sqlx::SqliteExecutor<'_>,
    keys: &[(u32, u32)],
) -> Result<Vec<SqliteRow>, sqlx::Error> {
    sqlx::query(
        "SELECT p.document, p.ordinal, p.offset, p.tokens, p.heading_path, p.locator, p.text, \
         (SELECT json_group_array(json_array(hex(c.id), c.first, c.last, c.context) ORDER BY c.ordinal) \
          FROM chunk c WHERE c.document = p.document AND c.parent = p.ordinal) \
         FROM json_each(?) j JOIN parent p \
         ON p.document = json_extract(j.value, '$[0]') AND p.ordinal = json_extract(j.value, '$[1]')",
    )
    .bind(json(&keys))
    .fetch_all(read)
    .await
}

/// A row of [`parents`] with its document.
pub(super) fn parent(row: &SqliteRow, document: Arc<DocumentSummary>) -> Result<ParentText, sqlx::Error> {
    let chunks: Vec<(String, usize, usize, String)> = parsed(row.get(7))?;
    let chunk = |(id, first, last, context): (String, usize, usize, String)| ParentChunk {
        id: ChunkId(id.parse().unwrap_or_default()),
        range: first..last,
        context,
    };
    Ok(ParentText {
        key: ParentKey { document: document.id, ordinal: row.get(1) },
        document,
        offset: row.get::<i64, _>(2) as usize,
        tokens: row.get(3),
        heading_path: parsed(row.get(4))?,
        locator: parsed(row.get(5))?,
        text: row.get(6),
        chunks: chunks.into_iter().map(chunk).collect(),
    })
}
