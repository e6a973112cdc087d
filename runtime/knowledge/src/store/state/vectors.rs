//! Giving chunks their vectors: whose text needs embedding, by which embedder, and how many wait.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use super::database::{Database, Write};
use super::rows;
use crate::embed::{EmbedKind, Embedder, Probes};
use crate::identity::TextHash;
use crate::store::language::understands;
use crate::store::{EmbedProgress, StoreError};

const ACTION: &str = "give chunks their vectors";

/// What one batch writes.
#[derive(Default)]
pub(in crate::store) struct Batch {
    pub(in crate::store) identity: String,
    /// Chunks that get a vector, by row key, with their text's hash.
    pub(in crate::store) embedded: Vec<(i64, TextHash)>,
    pub(in crate::store) never: Vec<i64>,
    pub(in crate::store) fresh: BTreeMap<TextHash, Vec<f32>>,
    computed: u64,
    /// To be recorded with the embedder's first vectors.
    pub(in crate::store) probes: Option<Probes>,
}

impl Batch {
    pub(in crate::store) fn progress(&self) -> EmbedProgress {
        EmbedProgress {
            embedded: self.computed,
            reused: self.embedded.len() as u64 - self.computed,
            skipped: self.never.len() as u64,
            remaining: 0,
        }
    }
}

/// A chunk that waits for its vector.
pub(in crate::store) struct Pending {
    /// Row key.
    pub(in crate::store) key: i64,
    /// Hash of the text.
    pub(in crate::store) hash: TextHash,
    /// As [`crate::chunk::indexed_text`] makes it.
    pub(in crate::store) text: String,
}

/// Makes an embedder the revision's. Chunks embedded by another are pending again.
pub(in crate::store) async fn adopt(
    write: &mut Write,
    revision: i64,
    identity: &str,
    dimensions: usize,
) -> Result<(), sqlx::Error> {
    sqlx::query("INSERT OR IGNORE INTO embedder (identity, dimensions) VALUES (?, ?)")
        .bind(identity)
        .bind(dimensions as i64)
        .execute(&mut **write)
        .await?;
    sqlx::query("UPDATE revision SET embedder = (SELECT key FROM embedder WHERE identity = ?) WHERE key = ?")
        .bind(identity)
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

/// Computes what pending chunks lack: `stored` are the texts that a vector of this embedder is stored of. Writes nothing.
pub(in crate::store) async fn compute(
    database: &Database,
    embedder: &dyn Embedder,
    pending: Vec<Pending>,
    stored: impl AsyncFnOnce(&[Pending]) -> Result<HashSet<TextHash>, StoreError>,
) -> Result<Batch, StoreError> {
    let profile = embedder.profile();
    let (understood, foreign): (Vec<_>, Vec<_>) =
        pending.into_iter().partition(|chunk| understands(profile, &chunk.text));
    let stored = stored(&understood).await?;
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

pub(in crate::store) async fn record_probes(
    write: &mut Write,
    identity: &str,
    probes: &Probes,
) -> Result<(), sqlx::Error> {
    sqlx::query("UPDATE embedder SET probes = ? WHERE identity = ?")
        .bind(bytes(probes.0.iter().flatten()))
        .bind(identity)
        .execute(&mut **write)
        .await?;
    Ok(())
}

pub(in crate::store) fn bytes<'a>(values: impl IntoIterator<Item = &'a f32>) -> Vec<u8> {
    values.into_iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Chunks still without a vector.
pub(in crate::store) async fn pending(database: &Database, revision: i64) -> Result<u64, StoreError> {
    let count: i64 = sqlx::query_scalar("SELECT count(*) FROM chunk WHERE revision = ? AND vector_state = 0")
        .bind(revision)
        .fetch_one(database.readers())
        .await
        .map_err(database.failed(ACTION))?;
    Ok(count as u64)
}
