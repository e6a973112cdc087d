//! What is derived from the store's file for searching, and how it follows the file.
//!
//! Writes only commit to the file and raise its generation; a reader that sees a newer generation first lets
//! everything derived catch up with the documents changed since. Opening, writing and recovering after a kill are
//! so one mechanism. Catching up runs in a task of its own: a caller that gives up does not interrupt it.

use futures::TryStreamExt;
use roaring::RoaringBitmap;
use sqlx::{Row as _, Sqlite, SqliteConnection, Transaction};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, RwLock};
use tantivy::TantivyError;

use super::Tokenise;
use super::catalog::Catalog;
use super::keywords::{self, KeywordChunk, KeywordIndex, KeywordParent, KeywordView, Origin};
use super::matrix::{self, Matrix, MatrixView, Row};
use super::rows;
use crate::chunk::{indexed_text, section_context};
use crate::store::state;
use crate::store::state::database::{Database, file_error};
use crate::store::state::rows::Embedded;
use crate::store::{Counts, StoreError};

const CATCH_UP: &str = "bring the index up to date";
/// Documents whose text is in memory at once.
const PAGE: usize = 64;

/// Everything derived, at one generation.
pub(super) struct Snapshot {
    pub(super) generation: i64,
    pub(super) catalog: Arc<Catalog>,
    pub(super) keywords: Arc<KeywordView>,
    pub(super) vectors: Option<MatrixView>,
    pub(super) counts: Counts,
}

/// The derived parts of one revision.
pub(super) struct Derived {
    store: String,
    revision: i64,
    hash: String,
    directory: PathBuf,
    keywords: Arc<KeywordIndex>,
    parts: tokio::sync::Mutex<Parts>,
    snapshot: RwLock<Arc<Snapshot>>,
}

struct Parts {
    catalog: (Arc<Catalog>, i64),
    keywords: Follow,
    matrix: Option<(Arc<Mutex<Matrix>>, i64)>,
}

/// How far the keyword index is.
struct Follow {
    /// Generation whose documents it holds.
    held: i64,
    /// Generation of its last commit.
    durable: i64,
}

type Read = Transaction<'static, Sqlite>;

impl Derived {
    /// Opens the derived files of a revision and brings them up to date.
    pub(super) async fn open(
        database: &Database,
        store: &str,
        (revision, hash): (i64, &str),
        directory: PathBuf,
        tokenise: Tokenise,
    ) -> Result<Self, StoreError> {
        let (generation, floor): (i64, i64) = sqlx::query_as("SELECT generation, floor FROM revision WHERE key = ?")
            .bind(revision)
            .fetch_one(database.readers())
            .await
            .map_err(database.failed(CATCH_UP))?;
        let wanted = Origin::new(store, hash, generation);
        let path = keywords::directory(&directory);
        let opened = {
            let (path, wanted) = (path.clone(), wanted.clone());
            blocking(move || KeywordIndex::open(&path, &wanted, floor, tokenise)).await
        };
        let (keywords, held) = opened.map_err(|error| file_error(&path, "open the keyword index", error))?;
        let view = keywords.view(None).map_err(|error| file_error(&path, "open the keyword index", error))?;
        let snapshot = Snapshot {
            generation: -1,
            catalog: Arc::default(),
            keywords: Arc::new(view),
            vectors: None,
            counts: Counts::default(),
        };
        let derived = Self {
            store: store.to_owned(),
            revision,
            hash: hash.to_owned(),
            directory,
            keywords: Arc::new(keywords),
            parts: tokio::sync::Mutex::new(Parts {
                catalog: (Arc::default(), 0),
                keywords: Follow { held, durable: held },
                matrix: None,
            }),
            snapshot: RwLock::new(Arc::new(snapshot)),
        };
        derived.catch_up(database).await?;
        Ok(derived)
    }

    /// The newest published state.
    pub(super) fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshot.read().expect("no thread panics while it holds the lock"))
    }

    /// Follows the file to its newest generation and publishes it.
    pub(super) async fn catch_up(&self, database: &Database) -> Result<Arc<Snapshot>, StoreError> {
        let mut parts = self.parts.lock().await;
        let failed = database.failed(CATCH_UP);
        let mut read = database.readers().begin().await.map_err(&failed)?;
        let (generation, floor): (i64, i64) = sqlx::query_as("SELECT generation, floor FROM revision WHERE key = ?")
            .bind(self.revision)
            .fetch_one(&mut *read)
            .await
            .map_err(&failed)?;
        let current = self.snapshot();
        if current.generation == generation {
            return Ok(current);
        }
        self.follow_catalog(&mut read, &mut parts, generation).await.map_err(&failed)?;
        self.follow_keywords(database, &mut read, &mut parts, generation).await?;
        self.follow_vectors(database, &mut read, &mut parts, (generation, floor)).await?;
        let counts = state::rows::counts(&mut read, self.revision).await.map_err(&failed)?;
        let snapshot = Arc::new(self.publish(&parts, generation, counts, &current)?);
        *self.snapshot.write().expect("no thread panics while it holds the lock") = Arc::clone(&snapshot);
        Ok(snapshot)
    }

    fn publish(
        &self,
        parts: &Parts,
        generation: i64,
        counts: Counts,
        current: &Snapshot,
    ) -> Result<Snapshot, StoreError> {
        let keywords = self
            .keywords
            .view(Some(&current.keywords))
            .map_err(|error| file_error(&self.directory, "read the keyword index", error))?;
        let vectors =
            parts.matrix.as_ref().map(|(matrix, _)| matrix.lock().expect("no thread panics with the lock").view());
        Ok(Snapshot {
            generation,
            catalog: Arc::clone(&parts.catalog.0),
            keywords: Arc::new(keywords),
            vectors,
            counts,
        })
    }

    async fn follow_catalog(&self, read: &mut Read, parts: &mut Parts, to: i64) -> Result<(), sqlx::Error> {
        let (catalog, from) = &mut parts.catalog;
        let gone = deleted(read, self.revision, *from).await?;
        let changed = rows::entries(read, self.revision, *from).await?;
        if !gone.is_empty() || !changed.is_empty() {
            let catalog = Arc::make_mut(catalog);
            gone.iter().for_each(|key| catalog.remove(key));
            changed.into_iter().for_each(|entry| catalog.insert(entry));
        }
        *from = to;
        Ok(())
    }

    async fn follow_keywords(
        &self,
        database: &Database,
        read: &mut Read,
        parts: &mut Parts,
        to: i64,
    ) -> Result<(), StoreError> {
        let failed = database.failed(CATCH_UP);
        let from = parts.keywords.held;
        let gone = deleted(read, self.revision, from).await.map_err(&failed)?;
        let changed = changed(read, self.revision, from).await.map_err(&failed)?;
        for page in changed.chunks(PAGE) {
            let parents = parents_of(read, page).await.map_err(&failed)?;
            let (keywords, page) = (Arc::clone(&self.keywords), page.to_vec());
            let add = move || {
                page.iter().try_for_each(|&document| keywords.delete(document))?;
                keywords.add(&parents)
            };
            blocking(add).await.map_err(|error| self.keyword_error(error))?;
        }
        if !gone.is_empty() || !changed.is_empty() {
            let keywords = Arc::clone(&self.keywords);
            let origin = Origin::new(&self.store, &self.hash, to);
            let finish = move || {
                gone.iter().try_for_each(|document| keywords.delete(document))?;
                keywords.commit(&origin)
            };
            blocking(finish).await.map_err(|error| self.keyword_error(error))?;
            parts.keywords.durable = to;
        }
        parts.keywords.held = to;
        Ok(())
    }

    fn keyword_error(&self, error: TantivyError) -> StoreError {
        file_error(&self.directory, "update the keyword index", error)
    }

    async fn follow_vectors(
        &self,
        database: &Database,
        read: &mut Read,
        parts: &mut Parts,
        (to, floor): (i64, i64),
    ) -> Result<(), StoreError> {
        let failed = database.failed(CATCH_UP);
        let Some((embedder, embedded)) = state::rows::embedder(read, self.revision).await.map_err(&failed)? else {
            parts.matrix = None;
            return Ok(());
        };
        let (matrix, from) = match parts.matrix.take() {
            Some((matrix, from)) if *lock(&matrix).embedded() == embedded => (matrix, from),
            _ => self.open_matrix(embedded, to, floor).await?,
        };
        let mut gone = deleted(read, self.revision, from).await.map_err(&failed)?;
        gone.extend(changed(read, self.revision, from).await.map_err(&failed)?);
        if from > 0 {
            lock(&matrix).remove_documents(&gone);
        }
        // Until the rows are complete the matrix is in no valid state: an error drops it and it is opened again.
        self.append_vectors(database, read, &matrix, (embedder, from)).await?;
        if lock(&matrix).wants_saving() {
            self.save_matrix(&matrix, to).await?;
        }
        parts.matrix = Some((matrix, to));
        Ok(())
    }

    async fn open_matrix(
        &self,
        embedded: Embedded,
        generation: i64,
        floor: i64,
    ) -> Result<(Arc<Mutex<Matrix>>, i64), StoreError> {
        let wanted = Origin::new(&self.store, &self.hash, generation);
        let path = matrix::directory(&self.directory);
        let (matrix, from) = blocking(move || Matrix::open(&path, &wanted, floor, embedded))
            .await
            .map_err(|error| file_error(&self.directory, "open the vectors", error))?;
        Ok((Arc::new(Mutex::new(matrix)), from))
    }

    async fn append_vectors(
        &self,
        database: &Database,
        read: &mut Read,
        matrix: &Mutex<Matrix>,
        (embedder, from): (i64, i64),
    ) -> Result<(), StoreError> {
        let mut vectors = sqlx::query(
            "SELECT c.id, c.document, c.parent, v.data FROM chunk c \
             JOIN vector v ON v.text_hash = c.text_hash AND v.embedder = ?1 \
             WHERE c.revision = ?2 AND c.vector_state = 1 AND c.vector_generation > ?3",
        )
        .bind(embedder)
        .bind(self.revision)
        .bind(from)
        .fetch(&mut **read);
        while let Some(row) = vectors.try_next().await.map_err(database.failed(CATCH_UP))? {
            let data: &[u8] = row.get(3);
            let vector = data.chunks_exact(4).map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
            let place = Row { chunk: state::rows::chunk_number(row.get(0)), document: row.get(1), parent: row.get(2) };
            lock(matrix).append(place, vector);
        }
        Ok(())
    }

    /// Makes everything derived durable, so that the next start has nothing to catch up with.
    pub(super) async fn save(&self, database: &Database) -> Result<(), StoreError> {
        self.catch_up(database).await?;
        let mut parts = self.parts.lock().await;
        let held = parts.keywords.held;
        if let Some((matrix, generation)) = &parts.matrix {
            self.save_matrix(matrix, *generation).await?;
        }
        if self.forgettable(database, held).await? {
            if parts.keywords.durable < held {
                let keywords = Arc::clone(&self.keywords);
                let origin = Origin::new(&self.store, &self.hash, held);
                blocking(move || keywords.commit(&origin)).await.map_err(|error| self.keyword_error(error))?;
                parts.keywords.durable = held;
            }
            self.forget_deletions(database, held).await?;
        }
        self.republish(&parts)
    }

    async fn save_matrix(&self, matrix: &Arc<Mutex<Matrix>>, generation: i64) -> Result<(), StoreError> {
        let origin = Origin::new(&self.store, &self.hash, generation);
        let matrix = Arc::clone(matrix);
        blocking(move || lock(&matrix).save(&origin))
            .await
            .map_err(|error| file_error(&self.directory, "save the vectors", error))
    }

    /// Lets readers use the mapped file in place of what waited in memory.
    fn republish(&self, parts: &Parts) -> Result<(), StoreError> {
        let current = self.snapshot();
        if current.generation == parts.keywords.held {
            let snapshot = self.publish(parts, current.generation, current.counts, &current)?;
            *self.snapshot.write().expect("no thread panics while it holds the lock") = Arc::new(snapshot);
        }
        Ok(())
    }

    async fn forgettable(&self, database: &Database, until: i64) -> Result<bool, StoreError> {
        sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM deletion WHERE revision = ? AND generation <= ?)")
            .bind(self.revision)
            .bind(until)
            .fetch_one(database.readers())
            .await
            .map_err(database.failed(CATCH_UP))
    }

    async fn forget_deletions(&self, database: &Database, until: i64) -> Result<(), StoreError> {
        let failed = database.failed(CATCH_UP);
        let mut write = database.begin(CATCH_UP).await?;
        sqlx::query("UPDATE revision SET floor = max(floor, ?1) WHERE key = ?2")
            .bind(until)
            .bind(self.revision)
            .execute(&mut *write)
            .await
            .map_err(&failed)?;
        sqlx::query("DELETE FROM deletion WHERE revision = ?2 AND generation <= ?1")
            .bind(until)
            .bind(self.revision)
            .execute(&mut *write)
            .await
            .map_err(&failed)?;
        fail::fail_point!("store::forget_deletions::before");
        database.commit(CATCH_UP, write).await?;
        fail::fail_point!("store::forget_deletions::after");
        Ok(())
    }

    /// Where the derived files lie.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }
}

fn lock(matrix: &Mutex<Matrix>) -> std::sync::MutexGuard<'_, Matrix> {
    matrix.lock().expect("no thread panics while it holds the lock")
}

/// Runs blocking work beside the runtime's threads.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(value) => value,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

async fn deleted(read: &mut SqliteConnection, revision: i64, from: i64) -> Result<RoaringBitmap, sqlx::Error> {
    let keys: Vec<u32> = sqlx::query_scalar("SELECT document FROM deletion WHERE revision = ? AND generation > ?")
        .bind(revision)
        .bind(from)
        .fetch_all(read)
        .await?;
    Ok(keys.into_iter().collect())
}

async fn changed(read: &mut SqliteConnection, revision: i64, from: i64) -> Result<Vec<u32>, sqlx::Error> {
    sqlx::query_scalar(
        "SELECT key FROM document WHERE revision = ?1 AND generation > ?2 AND text_generation > ?2 ORDER BY key",
    )
    .bind(revision)
    .bind(from)
    .fetch_all(read)
    .await
}

/// Parents that have chunks.
async fn parents_of(read: &mut SqliteConnection, documents: &[u32]) -> Result<Vec<KeywordParent>, sqlx::Error> {
    let documents = state::rows::json(&documents);
    let chunks = sqlx::query(
        "SELECT c.document, c.parent, c.id, c.context, c.first, c.last FROM json_each(?) j \
         JOIN chunk c ON c.document = j.value ORDER BY c.document, c.parent, c.ordinal",
    )
    .bind(&documents)
    .fetch_all(&mut *read)
    .await?;
    let mut texts = sqlx::query(
        "SELECT p.document, p.ordinal, d.title, p.heading_path, p.text FROM json_each(?) j \
         JOIN parent p ON p.document = j.value JOIN document d ON d.key = p.document \
         ORDER BY p.document, p.ordinal",
    )
    .bind(&documents)
    .fetch(read);
    let mut parents = Vec::new();
    let mut chunks = chunks.iter().peekable();
    while let Some(row) = texts.try_next().await? {
        let (document, ordinal, text): (u32, u32, &str) = (row.get(0), row.get(1), row.get(4));
        let mut own = Vec::new();
        while let Some(chunk) = chunks.next_if(|chunk| (chunk.get(0), chunk.get(1)) == (document, ordinal)) {
            let (first, last): (u32, u32) = (chunk.get(4), chunk.get(5));
            let span = text.get(first as usize..last as usize).unwrap_or_default();
            own.push(KeywordChunk { id: state::rows::chunk_id(chunk.get(2)), text: indexed_text(chunk.get(3), span) });
        }
        if !own.is_empty() {
            let context = section_context(row.get(2), &state::rows::parsed::<Vec<String>>(row.get(3))?);
            parents.push(KeywordParent { document, ordinal, text: indexed_text(&context, text), chunks: own });
        }
    }
    Ok(parents)
}
