//! Writing documents, their text and what is known of their files.

use sha2::{Digest, Sha256};
use sqlx::Row as _;
use std::collections::HashMap;
use std::ops::Range;

use super::database::{Write, engine};
use super::rows::{self, json};
use super::vanished;
use crate::chunk::{Parent, indexed_text};
use crate::identity::{ChunkId, DocumentId, TextHash};
use crate::store::{DocumentFailure, DocumentWrite, FileStamp, ManifestEntry, StoreError};

/// A document ready to be written: hashes computed, spans checked.
pub(in crate::store) struct Prepared {
    write: DocumentWrite,
    /// One JSON array a chunk: parent, ordinal, id, first, last, context, text hash.
    chunks: String,
    chunk_count: usize,
    written: [u8; 32],
}

type ChunkRow<'a> = (usize, usize, String, usize, usize, &'a str, String);

impl Prepared {
    /// The document as it was given.
    #[cfg(feature = "qdrant")]
    pub(in crate::store) fn document(&self) -> &DocumentWrite {
        &self.write
    }

    /// Hash of everything that is stored of it except its file.
    #[cfg(feature = "qdrant")]
    pub(in crate::store) fn written(&self) -> &[u8; 32] {
        &self.written
    }
}

/// A chunk with its id and its bytes of its parent's text.
pub(in crate::store) struct Placed<'a> {
    pub(in crate::store) parent: usize,
    pub(in crate::store) id: ChunkId,
    pub(in crate::store) range: Range<usize>,
    pub(in crate::store) context: &'a str,
    pub(in crate::store) text: &'a str,
}

/// The chunks of a document in its order.
pub(in crate::store) fn placed(write: &DocumentWrite) -> Result<Vec<Placed<'_>>, StoreError> {
    let mut occurrences: HashMap<&str, u32> = HashMap::new();
    let mut placed = Vec::new();
    for (ordinal, parent) in write.chunked.parents.iter().enumerate() {
        for chunk in &parent.chunks {
            let inside = parent.span.start <= chunk.span.start && chunk.span.end <= parent.span.end;
            let text = write.document.body.get(chunk.span.clone()).filter(|_| inside);
            let text = text.ok_or_else(|| engine("write documents", "a chunk lies outside its parent"))?;
            let occurrence = occurrences.entry(text).or_default();
            let id = ChunkId::new(write.id, text, *occurrence);
            *occurrence += 1;
            let range = chunk.span.start - parent.span.start..chunk.span.end - parent.span.start;
            placed.push(Placed { parent: ordinal, id, range, context: &chunk.context, text });
        }
    }
    Ok(placed)
}

/// Computes ids and hashes.
pub(in crate::store) fn prepare(write: DocumentWrite) -> Result<Prepared, StoreError> {
    let chunks: Vec<_> = placed(&write)?.into_iter().enumerate().map(row).collect();
    let (rows, chunk_count) = (json(&chunks), chunks.len());
    let written = fingerprint(&write, &rows);
    Ok(Prepared { write, chunks: rows, chunk_count, written })
}

fn row<'a>((ordinal, chunk): (usize, Placed<'a>)) -> ChunkRow<'a> {
    let hash = TextHash::of(&indexed_text(chunk.context, chunk.text)).to_string();
    let id = chunk.id.0.simple().to_string();
    (chunk.parent, ordinal, id, chunk.range.start, chunk.range.end, chunk.context, hash)
}

/// Hash of everything that is stored of a document except its file: an equal one need not be written again.
fn fingerprint(write: &DocumentWrite, chunks: &str) -> [u8; 32] {
    let parent = |parent: &Parent| json(&(&parent.span, &parent.heading_path, &parent.locator, parent.tokens));
    let mut hash = Sha256::new();
    hash.update(json(&(&write.chunked.title, write.document.format, &write.document.metadata)));
    write.chunked.parents.iter().for_each(|each| hash.update(parent(each)));
    hash.update(&write.document.body);
    hash.update(chunks);
    hash.finalize().into()
}

/// Where a document's text is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) enum TextPlace {
    /// In this file.
    Here,
    /// In another store: the file knows its hashes and places alone.
    #[cfg_attr(not(feature = "qdrant"), allow(dead_code, reason = "the embedded store has its text here"))]
    Elsewhere,
}

/// Where and when a document is written.
#[derive(Clone, Copy)]
pub(in crate::store) struct Target {
    pub(in crate::store) revision: i64,
    pub(in crate::store) generation: i64,
    pub(in crate::store) sync_started_ns: i64,
    /// State in which new chunks begin: pending, or never where the contract has no embedder.
    pub(in crate::store) vector_state: i64,
    /// Whether the text is written too.
    pub(in crate::store) text: TextPlace,
}

/// Writes one document; an unchanged one gets its stamp only.
pub(in crate::store) async fn write_document(write: &mut Write, to: Target, new: &Prepared) -> Result<(), sqlx::Error> {
    let known: Option<(i64, Option<Vec<u8>>)> =
        sqlx::query_as("SELECT key, written FROM document WHERE revision = ? AND id = ?")
            .bind(to.revision)
            .bind(new.write.id.0.as_bytes().as_slice())
            .fetch_optional(&mut **write)
            .await?;
    if let Some((key, Some(written))) = &known
        && *written == new.written
    {
        return refresh(write, to, *key, new).await;
    }
    let former = match known {
        Some((key, _)) => clear_text(write, key).await?,
        None => FormerText::default(),
    };
    let key = upsert(write, to, new).await?;
    insert_text(write, to, key, new).await?;
    former.forget(write, key).await
}

async fn refresh(write: &mut Write, to: Target, key: i64, new: &Prepared) -> Result<(), sqlx::Error> {
    sqlx::query(
        "UPDATE document SET stamp = ?2, content = ?3, synced_at = ?4, failure = NULL, \
         generation = CASE WHEN failure IS NULL THEN generation ELSE ?5 END WHERE key = ?1",
    )
    .bind(key)
    .bind(new.write.stamp.as_ref().map(json))
    .bind(new.write.content.0.as_slice())
    .bind(to.sync_started_ns)
    .bind(to.generation)
    .execute(&mut **write)
    .await?;
    Ok(())
}

/// What a document had before its text was removed, as JSON lists: the ids of its chunks and the hashes of their texts.
struct FormerText {
    chunks: String,
    hashes: String,
}

impl Default for FormerText {
    fn default() -> Self {
        Self { chunks: "[]".into(), hashes: "[]".into() }
    }
}

impl FormerText {
    /// Drops what nothing needs any more, once the document's new text is written, if there is one.
    async fn forget(&self, write: &mut Write, document: i64) -> Result<(), sqlx::Error> {
        vanished::remember(write, document, &self.chunks).await?;
        drop_unused_vectors(write, &self.hashes).await
    }
}

/// Removes a document's text.
async fn clear_text(write: &mut Write, key: i64) -> Result<FormerText, sqlx::Error> {
    let (chunks, hashes) = sqlx::query_as(
        "SELECT json_group_array(hex(id)), json_group_array(DISTINCT hex(text_hash)) FROM chunk WHERE document = ?",
    )
    .bind(key)
    .fetch_one(&mut **write)
    .await?;
    sqlx::query("DELETE FROM parent WHERE document = ?").bind(key).execute(&mut **write).await?;
    Ok(FormerText { chunks, hashes })
}

async fn upsert(write: &mut Write, to: Target, new: &Prepared) -> Result<i64, sqlx::Error> {
    let document = &new.write.document;
    sqlx::query_scalar(
        "INSERT INTO document (revision, id, source, path, version, title, format, date, tags, bytes, chunks, stamp, \
         content, written, synced_at, generation, text_generation) \
         VALUES (?1, ?2, ?3, ?4, 1, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?15) \
         ON CONFLICT (revision, id) DO UPDATE SET source = ?3, path = ?4, version = version + 1, title = ?5, \
         format = ?6, date = ?7, tags = ?8, bytes = ?9, chunks = ?10, stamp = ?11, content = ?12, written = ?13, \
         synced_at = ?14, generation = ?15, text_generation = ?15, failure = NULL RETURNING key",
    )
    .bind(to.revision)
    .bind(new.write.id.0.as_bytes().as_slice())
    .bind(&new.write.source)
    .bind(&new.write.path)
    .bind(&new.write.chunked.title)
    .bind(json(&document.format))
    .bind(document.metadata.date.map(|date| date.to_string()))
    .bind(json(&document.metadata.tags))
    .bind(document.body.len() as i64)
    .bind(new.chunk_count as i64)
    .bind(new.write.stamp.as_ref().map(json))
    .bind(new.write.content.0.as_slice())
    .bind(new.written.as_slice())
    .bind(to.sync_started_ns)
    .bind(to.generation)
    .fetch_one(&mut **write)
    .await
}

async fn insert_text(write: &mut Write, to: Target, key: i64, new: &Prepared) -> Result<(), sqlx::Error> {
    for (ordinal, parent) in new.write.chunked.parents.iter().enumerate() {
        sqlx::query(
            "INSERT INTO parent (document, ordinal, offset, tokens, heading_path, locator, text) \
             VALUES (?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(key)
        .bind(ordinal as i64)
        .bind(parent.span.start as i64)
        .bind(parent.tokens)
        .bind(json(&parent.heading_path))
        .bind(json(&parent.locator))
        .bind(kept(to.text, new.write.document.body.get(parent.span.clone())))
        .execute(&mut **write)
        .await?;
    }
    sqlx::query(
        "INSERT INTO chunk (revision, document, modified, vector_state, parent, ordinal, id, first, last, context, \
         text_hash) SELECT ?1, ?2, ?3, ?4, value ->> 0, value ->> 1, unhex(value ->> 2), value ->> 3, value ->> 4, \
         iif(?6, value ->> 5, ''), unhex(value ->> 6) FROM json_each(?5)",
    )
    .bind(to.revision)
    .bind(key)
    .bind(new.write.stamp.as_ref().map_or(0, |stamp| stamp.mtime_ns))
    .bind(to.vector_state)
    .bind(&new.chunks)
    .bind(to.text == TextPlace::Here)
    .execute(&mut **write)
    .await?;
    Ok(())
}

fn kept(place: TextPlace, text: Option<&str>) -> &str {
    text.filter(|_| place == TextPlace::Here).unwrap_or_default()
}

/// Removes vectors of texts that no chunk of any revision has any more. `hashes` is a JSON list.
async fn drop_unused_vectors(write: &mut Write, hashes: &str) -> Result<(), sqlx::Error> {
    if hashes == "[]" {
        return Ok(());
    }
    sqlx::query(
        "DELETE FROM vector WHERE text_hash IN (SELECT unhex(value) FROM json_each(?)) \
         AND NOT EXISTS (SELECT 1 FROM chunk c WHERE c.text_hash = vector.text_hash)",
    )
    .bind(hashes)
    .execute(&mut **write)
    .await?;
    Ok(())
}

/// Removes a document. Gives whether it was there.
pub(in crate::store) async fn delete_document(
    write: &mut Write,
    (revision, generation): (i64, i64),
    id: DocumentId,
) -> Result<bool, sqlx::Error> {
    let key: Option<i64> = sqlx::query_scalar("SELECT key FROM document WHERE revision = ? AND id = ?")
        .bind(revision)
        .bind(id.0.as_bytes().as_slice())
        .fetch_optional(&mut **write)
        .await?;
    let Some(key) = key else { return Ok(false) };
    clear_text(write, key).await?.forget(write, key).await?;
    sqlx::query("DELETE FROM document WHERE key = ?").bind(key).execute(&mut **write).await?;
    sqlx::query("INSERT INTO deletion (revision, document, generation) VALUES (?, ?, ?)")
        .bind(revision)
        .bind(key)
        .bind(generation)
        .execute(&mut **write)
        .await?;
    Ok(true)
}

/// Removes a revision whatever it is, even the one that readers get.
#[cfg(feature = "qdrant")]
pub(in crate::store) async fn forget_revision(write: &mut Write, hash: &str) -> Result<(), sqlx::Error> {
    sqlx::query("UPDATE revision SET state = 'retired' WHERE hash = ?").bind(hash).execute(&mut **write).await?;
    delete_revision(write, hash).await
}

/// Removes a retired revision with all that only it uses. A revision that has no embedder yet may still take any stored vector.
pub(in crate::store) async fn delete_revision(write: &mut Write, hash: &str) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM revision WHERE hash = ? AND state = 'retired'").bind(hash).execute(&mut **write).await?;
    sqlx::query("DELETE FROM vector WHERE NOT EXISTS (SELECT 1 FROM chunk c WHERE c.text_hash = vector.text_hash)")
        .execute(&mut **write)
        .await?;
    sqlx::query(
        "DELETE FROM embedder WHERE NOT EXISTS \
         (SELECT 1 FROM revision r WHERE r.embedder = embedder.key OR r.embedder IS NULL)",
    )
    .execute(&mut **write)
    .await?;
    Ok(())
}

/// Records stamps of files whose bytes are unchanged.
pub(in crate::store) async fn touch(
    write: &mut Write,
    revision: i64,
    sync_started_ns: i64,
    stamps: &[(DocumentId, FileStamp)],
) -> Result<(), sqlx::Error> {
    let stamps: Vec<(String, String)> =
        stamps.iter().map(|(id, stamp)| (id.0.simple().to_string(), json(stamp))).collect();
    sqlx::query(
        // CROSS JOIN fixes the order: left to itself, the planner reads the whole list once for each document.
        "WITH touched AS MATERIALIZED (SELECT d.key AS key, j.value ->> 1 AS stamp FROM json_each(?2) j \
         CROSS JOIN document d ON d.revision = ?3 AND d.id = unhex(j.value ->> 0)) \
         UPDATE document SET stamp = touched.stamp, synced_at = ?1 FROM touched WHERE document.key = touched.key",
    )
    .bind(sync_started_ns)
    .bind(json(&stamps))
    .bind(revision)
    .execute(&mut **write)
    .await?;
    Ok(())
}

/// Records a failure; a good version stays.
pub(in crate::store) async fn record_failure(
    write: &mut Write,
    to: Target,
    failure: &DocumentFailure,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO document (revision, id, source, path, version, title, stamp, content, synced_at, failure, \
         generation) VALUES (?1, ?2, ?3, ?4, 0, ?4, ?5, ?6, ?7, ?8, ?9) \
         ON CONFLICT (revision, id) DO UPDATE SET stamp = ?5, content = ?6, synced_at = ?7, failure = ?8, \
         generation = ?9",
    )
    .bind(to.revision)
    .bind(failure.id.0.as_bytes().as_slice())
    .bind(&failure.source)
    .bind(&failure.path)
    .bind(failure.stamp.as_ref().map(json))
    .bind(failure.content.0.as_slice())
    .bind(to.sync_started_ns)
    .bind(&failure.reason)
    .bind(to.generation)
    .execute(&mut **write)
    .await?;
    Ok(())
}

/// Every document known, by source and path.
pub(in crate::store) async fn manifest(
    read: impl sqlx::SqliteExecutor<'_>,
    revision: i64,
) -> Result<Vec<ManifestEntry>, sqlx::Error> {
    let found = sqlx::query(
        "SELECT id, source, path, stamp, content, synced_at, version, failure FROM document WHERE revision = ? \
         ORDER BY source, path",
    )
    .bind(revision)
    .fetch_all(read)
    .await?;
    let entry = |row: &sqlx::sqlite::SqliteRow| {
        Ok(ManifestEntry {
            id: rows::document_id(row.get(0)),
            source: row.get(1),
            path: row.get(2),
            stamp: row.get::<Option<&str>, _>(3).map(rows::parsed).transpose()?,
            content: rows::text_hash(row.get(4)),
            synced_at_ns: row.get(5),
            version: row.get(6),
            failure: row.get(7),
        })
    };
    found.iter().map(entry).collect()
}
