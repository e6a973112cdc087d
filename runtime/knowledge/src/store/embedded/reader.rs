//! The handle that returns text and scores, with the principal's access filter inside.

use async_trait::async_trait;
use groundwork_config::Contract;
use sqlx::Row as _;
use std::collections::HashMap;
use std::sync::Arc;

use super::Shared;
use super::catalog::{Catalog, Entry};
use super::derived::{Snapshot, blocking};
use super::revision::Revision;
use super::rows;
use super::top::Candidate;
use crate::embed::Probes;
use crate::identity::{ChunkId, DocumentId};
use crate::store::state::database::{engine, file_error};
use crate::store::state::{self, vanished};
use crate::store::{
    ChunkHit, ChunkLookup, ChunkText, Counts, DocumentSummary, Filter, GoneChunk, KeywordQuery, ParentKey, ParentText,
    Principal, Reader, StoreError, TermStatistics,
};

/// Chunks from which on a search runs beside the runtime's threads: below, moving it costs more than it takes.
const BLOCKING_CHUNKS: u64 = 20_000;

const READ: &str = "read passages";

/// Reads one revision for one principal.
pub(super) struct EmbeddedReader {
    shared: Arc<Shared>,
    revision: Arc<Revision>,
    principal: Principal,
}

impl EmbeddedReader {
    pub(super) fn new(shared: Arc<Shared>, revision: Arc<Revision>, principal: Principal) -> Self {
        Self { shared, revision, principal }
    }

    async fn fresh(&self) -> Result<Arc<Snapshot>, StoreError> {
        self.revision.fresh(&self.shared).await
    }

    fn keyword_error(&self, error: tantivy::TantivyError) -> StoreError {
        file_error(self.revision.derived.directory(), "search the keyword index", error)
    }

    fn hits(catalog: &Catalog, candidates: Vec<Candidate>) -> Vec<ChunkHit> {
        let hit = |candidate: Candidate| {
            let document = catalog.by_key(candidate.document)?.summary.id;
            Some(ChunkHit {
                chunk: ChunkId(uuid::Uuid::from_u128(candidate.chunk)),
                parent: ParentKey { document, ordinal: candidate.parent },
                score: candidate.score,
            })
        };
        candidates.into_iter().filter_map(hit).collect()
    }

    /// Parents of visible documents, read from the file or known from before.
    async fn load_parents(&self, wanted: &[(&Arc<Entry>, u32)]) -> Result<Vec<Arc<ParentText>>, StoreError> {
        let known = |(entry, ordinal): &(&Arc<Entry>, u32)| self.shared.parents.get(entry, *ordinal);
        let mut found: Vec<Option<Arc<ParentText>>> = wanted.iter().map(known).collect();
        let missing: Vec<(u32, u32)> = wanted
            .iter()
            .zip(&found)
            .filter(|(_, found)| found.is_none())
            .map(|((entry, ordinal), _)| (entry.key, *ordinal))
            .collect();
        if !missing.is_empty() {
            let loaded = self.read_parents(&missing, wanted).await?;
            for ((entry, ordinal), slot) in wanted.iter().zip(&mut found) {
                if slot.is_none() {
                    *slot = loaded.get(&(entry.key, *ordinal)).cloned();
                }
            }
        }
        Ok(found.into_iter().flatten().collect())
    }

    async fn read_parents(
        &self,
        keys: &[(u32, u32)],
        wanted: &[(&Arc<Entry>, u32)],
    ) -> Result<HashMap<(u32, u32), Arc<ParentText>>, StoreError> {
        let failed = self.shared.database.failed(READ);
        let documents: HashMap<u32, &Arc<Entry>> = wanted.iter().map(|(entry, _)| (entry.key, *entry)).collect();
        let mut loaded = HashMap::new();
        for row in rows::parents(self.shared.database.readers(), keys).await.map_err(&failed)? {
            let Some(entry) = documents.get(&row.get(0)) else { continue };
            let parent = Arc::new(rows::parent(&row, Arc::clone(&entry.summary)).map_err(&failed)?);
            self.shared.parents.put(entry.key, &parent);
            loaded.insert((entry.key, parent.key.ordinal), parent);
        }
        Ok(loaded)
    }

    /// Where a chunk was that is not there any more, as far as the principal may know.
    async fn gone(&self, id: ChunkId, catalog: &Catalog) -> Result<ChunkLookup, StoreError> {
        let found = vanished::find(self.shared.database.readers(), id).await;
        let Some(chunk) = found.map_err(self.shared.database.failed(READ))? else { return Ok(ChunkLookup::Unknown) };
        let document = catalog.by_id(chunk.document);
        let visible = document.map_or_else(|| chunk.visible_to(&self.principal), |now| now.visible_to(&self.principal));
        if !visible {
            return Ok(ChunkLookup::Unknown);
        }
        Ok(ChunkLookup::Gone(Box::new(GoneChunk {
            source: chunk.source,
            path: chunk.path,
            document: document.map(|entry| Arc::clone(&entry.summary)),
        })))
    }

    async fn found(&self, id: ChunkId, snapshot: &Snapshot) -> Result<Option<ChunkText>, StoreError> {
        let place: Option<(u32, u32)> =
            sqlx::query_as("SELECT document, parent FROM chunk WHERE id = ? AND revision = ?")
                .bind(id.0.as_bytes().as_slice())
                .bind(self.revision.key)
                .fetch_optional(self.shared.database.readers())
                .await
                .map_err(self.shared.database.failed(READ))?;
        let Some((document, ordinal)) = place else { return Ok(None) };
        let entry = snapshot.catalog.by_key(document).filter(|entry| entry.visible_to(&self.principal));
        let Some(entry) = entry else { return Ok(None) };
        let parents = self.load_parents(&[(entry, ordinal)]).await?;
        let chunk = |parent: Arc<ParentText>| {
            let chunk = parent.chunks.iter().find(|chunk| chunk.id == id)?.clone();
            Some(ChunkText { id, range: chunk.range, context: chunk.context, parent })
        };
        Ok(parents.into_iter().next().and_then(chunk))
    }
}

#[async_trait]
impl Reader for EmbeddedReader {
    fn revision(&self) -> String {
        self.revision.hash.clone()
    }

    fn contract(&self) -> Arc<Contract> {
        Arc::clone(&self.revision.contract)
    }

    async fn search_keywords(
        &self,
        query: &KeywordQuery,
        filter: &Filter,
        limit: usize,
    ) -> Result<Vec<ChunkHit>, StoreError> {
        let snapshot = self.fresh().await?;
        let allowed = snapshot.catalog.allowed(&self.principal, filter)?;
        let found = if snapshot.keywords.chunks() < BLOCKING_CHUNKS {
            snapshot.keywords.search(query, allowed.as_deref(), limit)
        } else {
            let (keywords, query) = (Arc::clone(&snapshot.keywords), query.clone());
            blocking(move || keywords.search(&query, allowed.as_deref(), limit)).await
        };
        Ok(Self::hits(&snapshot.catalog, found.map_err(|error| self.keyword_error(error))?))
    }

    async fn search_vectors(&self, query: &[f32], filter: &Filter, limit: usize) -> Result<Vec<ChunkHit>, StoreError> {
        let snapshot = self.fresh().await?;
        let allowed = snapshot.catalog.allowed(&self.principal, filter)?;
        let Some(vectors) = snapshot.vectors.clone() else { return Ok(Vec::new()) };
        if vectors.dimensions() != query.len() {
            return Err(StoreError::Dimensions { expected: vectors.dimensions(), got: query.len() });
        }
        let found = if (vectors.len() as u64) < BLOCKING_CHUNKS {
            vectors.search(query, allowed.as_deref(), limit)
        } else {
            let query = query.to_owned();
            blocking(move || vectors.search(&query, allowed.as_deref(), limit)).await
        };
        Ok(Self::hits(&snapshot.catalog, found))
    }

    async fn parents(&self, keys: &[ParentKey]) -> Result<Vec<Arc<ParentText>>, StoreError> {
        let snapshot = self.fresh().await?;
        let wanted: Vec<_> = keys
            .iter()
            .filter_map(|key| Some((snapshot.catalog.visible(key.document, &self.principal)?, key.ordinal)))
            .collect();
        self.load_parents(&wanted).await
    }

    async fn chunk(&self, id: ChunkId) -> Result<ChunkLookup, StoreError> {
        let snapshot = self.fresh().await?;
        if let Some(chunk) = self.found(id, &snapshot).await? {
            return Ok(ChunkLookup::Found(Box::new(chunk)));
        }
        self.gone(id, &snapshot.catalog).await
    }

    async fn document(&self, id: DocumentId) -> Result<Option<DocumentSummary>, StoreError> {
        let snapshot = self.fresh().await?;
        Ok(snapshot.catalog.visible(id, &self.principal).map(|entry| (*entry.summary).clone()))
    }

    async fn body(&self, id: DocumentId) -> Result<Option<String>, StoreError> {
        let snapshot = self.fresh().await?;
        let Some(entry) = snapshot.catalog.visible(id, &self.principal) else { return Ok(None) };
        let parts: Vec<String> = sqlx::query_scalar("SELECT text FROM parent WHERE document = ? ORDER BY ordinal")
            .bind(entry.key)
            .fetch_all(self.shared.database.readers())
            .await
            .map_err(self.shared.database.failed("read a document"))?;
        Ok(Some(parts.concat()))
    }

    async fn documents(
        &self,
        filter: &Filter,
        after: Option<(String, String)>,
        limit: usize,
    ) -> Result<Vec<DocumentSummary>, StoreError> {
        let snapshot = self.fresh().await?;
        let allowed = snapshot.catalog.allowed(&self.principal, filter)?;
        Ok(snapshot.catalog.page(&allowed, after.as_ref(), limit))
    }

    async fn term_statistics(&self, query: &KeywordQuery) -> Result<TermStatistics, StoreError> {
        let snapshot = self.fresh().await?;
        let frequencies = snapshot.keywords.frequencies(query).map_err(|error| self.keyword_error(error))?;
        Ok(TermStatistics { chunks: snapshot.keywords.chunks(), frequencies })
    }

    async fn similar_terms(&self, term: &str, limit: usize) -> Result<Vec<String>, StoreError> {
        let snapshot = self.fresh().await?;
        let (keywords, term) = (Arc::clone(&snapshot.keywords), term.to_owned());
        let similar = blocking(move || keywords.similar_terms(&term, limit)).await;
        similar.map_err(|error| engine("look for similar terms", error))
    }

    async fn probes(&self) -> Result<Option<Probes>, StoreError> {
        let failed = self.shared.database.failed(READ);
        let mut read = self.shared.database.readers().acquire().await.map_err(&failed)?;
        match state::rows::embedder(&mut read, self.revision.key).await.map_err(&failed)? {
            Some((_, embedder)) => state::rows::probes(&mut *read, &embedder.identity).await.map_err(&failed),
            None => Ok(None),
        }
    }

    async fn counts(&self) -> Result<Counts, StoreError> {
        Ok(self.fresh().await?.counts)
    }
}
