//! Rows of the store's file as values, and the statements that more than one part reads them with.

use futures::TryStreamExt;
use serde::Deserialize;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection};
use std::sync::Arc;

use super::catalog::Entry;
use crate::document::{Format, Metadata};
use crate::identity::{ChunkId, DocumentId};
use crate::store::state::rows::{json, parsed};
use crate::store::{DocumentSummary, ParentChunk, ParentKey, ParentText};

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
