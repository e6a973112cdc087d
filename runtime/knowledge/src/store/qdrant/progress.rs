//! What a sync knows of a collection, beside the tables that every store has: the frozen averages, which documents were
//! being written when a process died, and how far the memory of vanished chunks was handed on.

use sqlx::Row as _;

use super::Averages;
use super::payload::{self, GonePayload, Kind};
use crate::identity::{ChunkId, DocumentId};
use crate::store::StoreError;
use crate::store::state::database::{Database, Write};
use crate::store::state::rows::{self, json};

const TABLES: [&str; 2] = [
    "CREATE TABLE IF NOT EXISTS qdrant_revision (\
     revision INTEGER PRIMARY KEY REFERENCES revision (key) ON DELETE CASCADE, \
     chunk_average REAL, parent_average REAL, vanished INTEGER NOT NULL DEFAULT 0) STRICT",
    "CREATE TABLE IF NOT EXISTS qdrant_unfinished (\
     revision INTEGER NOT NULL REFERENCES revision (key) ON DELETE CASCADE, document BLOB NOT NULL, \
     PRIMARY KEY (revision, document)) STRICT, WITHOUT ROWID",
];

/// Makes the tables where they are missing.
pub(super) async fn prepare(database: &Database) -> Result<(), StoreError> {
    let action = "open the store";
    let mut write = database.begin(action).await?;
    for statement in TABLES {
        sqlx::query(statement).execute(&mut *write).await.map_err(database.failed(action))?;
    }
    database.commit(action, write).await
}

/// The averages of a revision, once frozen.
pub(super) async fn averages(database: &Database, revision: i64) -> Result<Option<Averages>, StoreError> {
    let row: Option<(Option<f32>, Option<f32>)> =
        sqlx::query_as("SELECT chunk_average, parent_average FROM qdrant_revision WHERE revision = ?")
            .bind(revision)
            .fetch_optional(database.readers())
            .await
            .map_err(database.failed("open a revision"))?;
    Ok(row.and_then(|(chunk, parent)| Some(Averages { chunk: chunk?, parent: parent? })))
}

/// Freezes the averages of a revision.
pub(super) async fn freeze(write: &mut Write, revision: i64, averages: Averages) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO qdrant_revision (revision, chunk_average, parent_average) VALUES (?1, ?2, ?3) \
         ON CONFLICT (revision) DO UPDATE SET chunk_average = ?2, parent_average = ?3",
    )
    .bind(revision)
    .bind(averages.chunk)
    .bind(averages.parent)
    .execute(&mut **write)
    .await?;
    Ok(())
}

/// A document as the file knows it before a write.
pub(super) struct Known {
    /// 0 where it never loaded.
    pub(super) version: u32,
    /// Hash of everything that is stored of it except its file.
    pub(super) written: Option<Vec<u8>>,
}

/// A document's row.
pub(super) async fn known(write: &mut Write, revision: i64, id: DocumentId) -> Result<Option<Known>, sqlx::Error> {
    let row: Option<(u32, Option<Vec<u8>>)> =
        sqlx::query_as("SELECT version, written FROM document WHERE revision = ? AND id = ?")
            .bind(revision)
            .bind(id.0.as_bytes().as_slice())
            .fetch_optional(&mut **write)
            .await?;
    Ok(row.map(|(version, written)| Known { version, written }))
}

/// Notes that documents are being written: whatever the file says of their content is not to be relied on until
/// [`finish`].
pub(super) async fn intend(write: &mut Write, revision: i64, documents: &[DocumentId]) -> Result<(), sqlx::Error> {
    let ids = ids(documents);
    for statement in [
        "INSERT OR IGNORE INTO qdrant_unfinished (revision, document) SELECT ?1, unhex(value) FROM json_each(?2)",
        "UPDATE document SET written = NULL, stamp = NULL, content = zeroblob(32) WHERE revision = ?1 \
         AND id IN (SELECT unhex(value) FROM json_each(?2))",
    ] {
        sqlx::query(statement).bind(revision).bind(&ids).execute(&mut **write).await?;
    }
    Ok(())
}

/// Notes that the documents are written.
pub(super) async fn finish(write: &mut Write, revision: i64, documents: &[DocumentId]) -> Result<(), sqlx::Error> {
    sqlx::query(
        "DELETE FROM qdrant_unfinished WHERE revision = ? AND document IN (SELECT unhex(value) FROM json_each(?))",
    )
    .bind(revision)
    .bind(ids(documents))
    .execute(&mut **write)
    .await?;
    Ok(())
}

/// Documents whose first write did not end: the file has nothing of them.
pub(super) async fn strangers(database: &Database, revision: i64) -> Result<Vec<DocumentId>, StoreError> {
    let found: Vec<Vec<u8>> = sqlx::query_scalar(
        "SELECT u.document FROM qdrant_unfinished u WHERE u.revision = ? AND NOT EXISTS \
         (SELECT 1 FROM document d WHERE d.revision = u.revision AND d.id = u.document AND d.version > 0)",
    )
    .bind(revision)
    .fetch_all(database.readers())
    .await
    .map_err(database.failed("open a revision for writing"))?;
    Ok(found.iter().map(|id| rows::document_id(id)).collect())
}

/// Notes that the dense vectors of new chunks with these texts were kept.
pub(super) async fn keep_vectors(
    write: &mut Write,
    revision: i64,
    documents: &[DocumentId],
    hashes: &[&String],
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "UPDATE chunk SET vector_state = 1 WHERE revision = ?1 AND vector_state = 0 \
         AND document IN (SELECT d.key FROM json_each(?2) j JOIN document d ON d.revision = ?1 AND d.id = unhex(j.value)) \
         AND text_hash IN (SELECT unhex(value) FROM json_each(?3))",
    )
    .bind(revision)
    .bind(ids(documents))
    .bind(json(&hashes))
    .execute(&mut **write)
    .await?;
    Ok(())
}

/// Chunks that vanished since the collection was last told, oldest first, with the number of the newest.
pub(super) async fn vanished(database: &Database, revision: i64) -> Result<Vec<(ChunkId, GonePayload)>, StoreError> {
    let found = sqlx::query(
        "SELECT v.chunk, v.sequence, v.document, v.source, v.path, v.access FROM vanished v WHERE v.sequence > \
         COALESCE((SELECT vanished FROM qdrant_revision WHERE revision = ?), 0) ORDER BY v.sequence",
    )
    .bind(revision)
    .fetch_all(database.readers())
    .await
    .map_err(database.failed("hand on what vanished"))?;
    let gone = |row: &sqlx::sqlite::SqliteRow| {
        let access: Option<Vec<String>> = row.get::<Option<&str>, _>(5).map(rows::parsed).transpose()?;
        let payload = GonePayload {
            kind: Kind::Gone,
            sequence: row.get(1),
            gone: rows::document_id(row.get(2)),
            source: row.get(3),
            path: row.get(4),
            access: payload::access(access.as_deref()),
        };
        Ok((rows::chunk_id(row.get(0)), payload))
    };
    found.iter().map(gone).collect::<Result<_, _>>().map_err(database.failed("hand on what vanished"))
}

/// Notes that the collection was told of everything that vanished up to `sequence`.
pub(super) async fn told(database: &Database, revision: i64, sequence: i64) -> Result<(), StoreError> {
    let action = "hand on what vanished";
    let mut write = database.begin(action).await?;
    sqlx::query(
        "INSERT INTO qdrant_revision (revision, vanished) VALUES (?1, ?2) \
         ON CONFLICT (revision) DO UPDATE SET vanished = max(vanished, ?2)",
    )
    .bind(revision)
    .bind(sequence)
    .execute(&mut *write)
    .await
    .map_err(database.failed(action))?;
    database.commit(action, write).await
}

fn ids(documents: &[DocumentId]) -> String {
    json(&documents.iter().map(|id| id.0.simple().to_string()).collect::<Vec<_>>())
}
