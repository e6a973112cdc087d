//! Chunks that readers could see once and cannot any more. Their ids depend on document and text alone, so the memory
//! is the store's, not a revision's: it outlives documents, restarts and rebuilds.

use sqlx::SqliteExecutor;

use super::database::Write;
use super::rows;
use crate::identity::{ChunkId, DocumentId};
use crate::store::Principal;
use crate::store::access::admits;

/// Chunks remembered at most, the newest; with its indexes one takes about 150 bytes.
const REMEMBERED: i64 = 100_000;

/// Where a vanished chunk was.
pub(in crate::store) struct Vanished {
    pub(in crate::store) document: DocumentId,
    pub(in crate::store) source: String,
    pub(in crate::store) path: String,
    access: Option<Vec<String>>,
}

impl Vanished {
    /// Whether the principal could see the document when the chunk vanished.
    pub(in crate::store) fn visible_to(&self, principal: &Principal) -> bool {
        admits(self.access.as_deref(), principal)
    }
}

/// Remembers those of `chunks` (a JSON list of ids) that the document lost. Only the active revision's were ever seen.
pub(in crate::store) async fn remember(write: &mut Write, document: i64, chunks: &str) -> Result<(), sqlx::Error> {
    if chunks == "[]" {
        return Ok(());
    }
    sqlx::query(
        "INSERT OR REPLACE INTO vanished (chunk, document, source, path, access) \
         SELECT unhex(j.value), d.id, d.source, d.path, d.access FROM json_each(?2) j JOIN document d ON d.key = ?1 \
         JOIN revision r ON r.key = d.revision AND r.state = 'active' \
         WHERE NOT EXISTS (SELECT 1 FROM chunk c WHERE c.id = unhex(j.value) AND c.document = ?1)",
    )
    .bind(document)
    .bind(chunks)
    .execute(&mut **write)
    .await?;
    forget_oldest(write).await
}

/// Remembers the chunks of the active revision that its successor does not have.
pub(in crate::store) async fn remember_switch(write: &mut Write, successor: i64) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT OR REPLACE INTO vanished (chunk, document, source, path, access) \
         SELECT c.id, d.id, d.source, d.path, d.access FROM revision r JOIN chunk c ON c.revision = r.key \
         JOIN document d ON d.key = c.document WHERE r.state = 'active' AND r.key <> ?1 \
         AND NOT EXISTS (SELECT 1 FROM chunk n WHERE n.id = c.id AND n.revision = ?1) LIMIT ?2",
    )
    .bind(successor)
    .bind(REMEMBERED)
    .execute(&mut **write)
    .await?;
    forget_oldest(write).await
}

async fn forget_oldest(write: &mut Write) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM vanished WHERE sequence <= (SELECT max(sequence) FROM vanished) - ?")
        .bind(REMEMBERED)
        .execute(&mut **write)
        .await?;
    Ok(())
}

/// Where the chunk was, if it is remembered.
pub(in crate::store) async fn find(
    read: impl SqliteExecutor<'_>,
    chunk: ChunkId,
) -> Result<Option<Vanished>, sqlx::Error> {
    let row: Option<(Vec<u8>, String, String, Option<String>)> =
        sqlx::query_as("SELECT document, source, path, access FROM vanished WHERE chunk = ?")
            .bind(chunk.0.as_bytes().as_slice())
            .fetch_optional(read)
            .await?;
    let vanished = |(document, source, path, access): (Vec<u8>, String, String, Option<String>)| {
        let access = access.as_deref().map(rows::parsed).transpose()?;
        Ok(Vanished { document: rows::document_id(&document), source, path, access })
    };
    row.map(vanished).transpose()
}
