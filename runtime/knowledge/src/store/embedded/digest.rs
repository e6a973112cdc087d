//! One hash over everything that a revision holds.

use futures::TryStreamExt;
use sha2::{Digest, Sha256};
use sqlx::{Row as _, SqliteConnection};

/// Hash over manifest, text, chunks and vectors in a canonical order. Row keys, generations, stamps and times are left
/// out: they depend on the way, not on the state.
pub(super) async fn digest(read: &mut SqliteConnection, revision: i64) -> Result<String, sqlx::Error> {
    let mut hash = Sha256::new();
    let documents = "SELECT json_array(hex(id), source, path, version, title, format, date, tags, access, \
         hex(content), failure) FROM document WHERE revision = ? ORDER BY source, path";
    let parents = "SELECT json_array(d.path, p.ordinal, p.offset, p.tokens, p.heading_path, p.locator, p.text) \
         FROM document d JOIN parent p ON p.document = d.key WHERE d.revision = ? ORDER BY d.source, d.path, p.ordinal";
    let chunks = "SELECT json_array(d.path, c.ordinal, c.parent, hex(c.id), c.first, c.last, c.context, \
         hex(c.text_hash), c.vector_state) FROM document d JOIN chunk c ON c.document = d.key WHERE d.revision = ? \
         ORDER BY d.source, d.path, c.ordinal";
    for statement in [documents, parents, chunks] {
        let mut lines = sqlx::query(statement).bind(revision).fetch(&mut *read);
        while let Some(row) = lines.try_next().await? {
            hash.update(row.get::<&str, _>(0));
            hash.update("\n");
        }
    }
    let mut vectors = sqlx::query(
        "SELECT e.identity, v.data FROM document d JOIN chunk c ON c.document = d.key \
         JOIN revision r ON r.key = d.revision JOIN embedder e ON e.key = r.embedder \
         JOIN vector v ON v.text_hash = c.text_hash AND v.embedder = e.key \
         WHERE d.revision = ? AND c.vector_state = 1 ORDER BY d.source, d.path, c.ordinal",
    )
    .bind(revision)
    .fetch(read);
    while let Some(row) = vectors.try_next().await? {
        hash.update(row.get::<&str, _>(0));
        let data: &[u8] = row.get(1);
        for bytes in data.chunks_exact(4) {
            let value = f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            hash.update(((value * 1e5).round() as i32).to_le_bytes());
        }
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
