//! The handle that returns text and scores, with the principal's access filter inside.

use async_trait::async_trait;
use groundwork_config::{Contract, Revision};
use qdrant_client::qdrant::{Condition, Filter as ServerFilter, RetrievedPoint};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use uuid::Uuid;

use super::collection::{Collection, Wanted};
use super::payload::{self, DocumentPayload, GonePayload, Kind, ParentPayload, StatePayload};
use super::{Shared, filter, hits, terms};
use crate::embed::Probes;
use crate::identity::{ChunkId, DocumentId};
use crate::store::access::globs;
use crate::store::similar::Similar;
use crate::store::{
    ChunkHit, ChunkLookup, ChunkText, Counts, DocumentSummary, Filter, GoneChunk, KeywordQuery, ParentChunk, ParentKey,
    ParentText, Principal, Reader, StoreError, TermStatistics,
};

const READ: &str = "read passages";
const STATISTICS: &str = "count terms";
/// Terms looked at for similar ones, the most frequent.
const VOCABULARY: u64 = 200_000;

/// Reads one revision for one principal.
pub(super) struct QdrantReader {
    shared: Arc<Shared>,
    descriptor: Arc<Revision>,
    collection: Collection,
    principal: Principal,
}

impl QdrantReader {
    pub(super) fn new(shared: Arc<Shared>, descriptor: Arc<Revision>, principal: Principal) -> Self {
        let collection = shared.collection(&descriptor.collection);
        Self { shared, descriptor, collection, principal }
    }

    /// Length of the revision's vectors.
    fn dimensions(&self) -> Option<usize> {
        (self.shared.options.dimensions)(&self.descriptor.contract.embedding).map(|length| length as usize)
    }

    /// Points that are visible and these.
    fn own(&self, also: impl IntoIterator<Item = Condition>) -> ServerFilter {
        ServerFilter::must(std::iter::once(filter::access(&self.principal)).chain(also))
    }

    /// What a search may return. Globs name documents, which the server is then asked for by id.
    async fn allowed(&self, wanted: &Filter) -> Result<ServerFilter, StoreError> {
        let mut allowed = filter::visible(&self.principal, wanted);
        if !wanted.paths.is_empty() {
            let found = self.matching(wanted).await?;
            allowed.must.push(filter::any_id("document", found.into_iter().map(|document| document.id.0)));
        }
        Ok(allowed)
    }

    /// Visible documents that pass, in any order.
    async fn matching(&self, wanted: &Filter) -> Result<Vec<DocumentSummary>, StoreError> {
        let paths = globs(&wanted.paths)?;
        let mut visible = filter::visible(&self.principal, wanted);
        visible.must.push(filter::kind(Kind::Document));
        let found = self.collection.scroll(READ, &visible, Wanted::Payload).await?;
        let documents = found.into_iter().map(document).collect::<Result<Vec<_>, _>>()?;
        let passes = |document: &DocumentSummary| {
            wanted.paths.is_empty() || paths.is_match(format!("{}/{}", document.source, document.path))
        };
        Ok(documents.into_iter().filter(passes).collect())
    }

    async fn state(&self) -> Result<Option<StatePayload>, StoreError> {
        let ids = vec![payload::point_id(payload::state_point())];
        let found = self.collection.get(READ, ids, Wanted::Payload).await?.pop();
        found.map(|point| payload::parsed(READ, point.payload)).transpose()
    }

    /// Visible points with these ids.
    async fn points(&self, ids: impl IntoIterator<Item = Uuid>, wanted: Wanted) -> Result<Found, StoreError> {
        let ids: Vec<_> = ids.into_iter().map(payload::point_id).collect();
        if ids.is_empty() {
            return Ok(Found::new());
        }
        let found = self.collection.scroll(READ, &self.own([Condition::has_id(ids)]), wanted).await?;
        Ok(found.into_iter().filter_map(|point| Some((payload::uuid(point.id.clone())?, point))).collect())
    }

    /// Where a chunk was that is not there any more, as far as the principal may know.
    async fn gone(&self, id: ChunkId) -> Result<ChunkLookup, StoreError> {
        let place = vec![payload::point_id(payload::gone_point(id))];
        let Some(point) = self.collection.get(READ, place, Wanted::Payload).await?.pop() else {
            return Ok(ChunkLookup::Unknown);
        };
        let gone: GonePayload = payload::parsed(READ, point.payload)?;
        let document = self.collection.get(READ, vec![payload::point_id(gone.gone.0)], Wanted::Payload).await?.pop();
        let document = document.map(|point| payload::parsed::<DocumentPayload>(READ, point.payload)).transpose()?;
        let access = document.as_ref().map_or(&gone.access, |document| &document.place.access);
        let keys = payload::keys(&self.principal);
        if !access.iter().any(|entry| keys.contains(entry)) {
            return Ok(ChunkLookup::Unknown);
        }
        let document = document.map(|document| Arc::new(document.summary()));
        Ok(ChunkLookup::Gone(Box::new(GoneChunk { source: gone.source, path: gone.path, document })))
    }
}

type Found = HashMap<Uuid, RetrievedPoint>;

fn document(point: RetrievedPoint) -> Result<DocumentSummary, StoreError> {
    payload::parsed::<DocumentPayload>(READ, point.payload).map(DocumentPayload::summary)
}

fn parent(payload: ParentPayload, document: Arc<DocumentSummary>) -> ParentText {
    let chunk = |placed: payload::PlacedChunk| ParentChunk {
        id: placed.id,
        range: placed.first as usize..placed.last as usize,
        context: placed.context,
    };
    ParentText {
        key: ParentKey { document: document.id, ordinal: payload.ordinal },
        document,
        heading_path: payload.heading_path,
        locator: payload.locator,
        offset: payload.offset as usize,
        text: payload.text,
        tokens: payload.tokens,
        chunks: payload.chunks.into_iter().map(chunk).collect(),
    }
}

#[async_trait]
impl Reader for QdrantReader {
    fn revision(&self) -> String {
        self.descriptor.contract.hash()
    }

    fn contract(&self) -> Arc<Contract> {
        Arc::new(self.descriptor.contract.clone())
    }

    async fn search_keywords(
        &self,
        query: &KeywordQuery,
        filter: &Filter,
        limit: usize,
    ) -> Result<Vec<ChunkHit>, StoreError> {
        let allowed = self.allowed(filter).await?;
        match terms::query(query) {
            Some(vector) if limit > 0 => hits::keywords(&self.collection, &vector, &allowed, limit).await,
            _ => Ok(Vec::new()),
        }
    }

    async fn search_vectors(&self, query: &[f32], filter: &Filter, limit: usize) -> Result<Vec<ChunkHit>, StoreError> {
        let allowed = self.allowed(filter).await?;
        if self.dimensions() != Some(query.len()) {
            // Without any vector there is nothing that the query's length could differ from.
            return match self.state().await?.and_then(|state| state.embedder) {
                Some(embedder) => Err(StoreError::Dimensions { expected: embedder.dimensions, got: query.len() }),
                None => Ok(Vec::new()),
            };
        }
        if limit == 0 {
            return Ok(Vec::new());
        }
        hits::vectors(&self.collection, query, (&allowed, self.shared.options.accuracy), limit).await
    }

    fn asks_both_at_once(&self) -> bool {
        true
    }

    async fn search_both(
        &self,
        query: &KeywordQuery,
        vector: &[f32],
        filter: &Filter,
        limit: usize,
    ) -> Result<(Vec<ChunkHit>, Vec<ChunkHit>), StoreError> {
        let sparse = terms::query(query).filter(|_| limit > 0 && self.dimensions() == Some(vector.len()));
        let Some(sparse) = sparse else {
            let (keywords, vectors) =
                (self.search_keywords(query, filter, limit), self.search_vectors(vector, filter, limit));
            return futures::try_join!(keywords, vectors);
        };
        let allowed = self.allowed(filter).await?;
        hits::both(&self.collection, (&sparse, vector), (&allowed, self.shared.options.accuracy), limit).await
    }

    async fn parents(&self, keys: &[ParentKey]) -> Result<Vec<Arc<ParentText>>, StoreError> {
        let documents: HashSet<Uuid> = keys.iter().map(|key| key.document.0).collect();
        let points = keys.iter().map(|&key| payload::parent_point(key)).chain(documents.iter().copied());
        let mut found = self.points(points, Wanted::Payload).await?;
        let mut summaries = HashMap::new();
        for id in documents {
            if let Some(point) = found.remove(&id) {
                summaries.insert(id, Arc::new(document(point)?));
            }
        }
        let mut parents = Vec::with_capacity(keys.len());
        for &key in keys {
            let point = found.get(&payload::parent_point(key)).cloned();
            if let (Some(point), Some(summary)) = (point, summaries.get(&key.document.0)) {
                parents.push(Arc::new(parent(payload::parsed(READ, point.payload)?, Arc::clone(summary))));
            }
        }
        Ok(parents)
    }

    async fn chunk(&self, id: ChunkId) -> Result<ChunkLookup, StoreError> {
        let found = self.points([id.0], Wanted::Fields(&payload::ChunkPlace::FIELDS)).await?;
        if let Some(point) = found.into_values().next() {
            let place: payload::ChunkPlace = payload::parsed(READ, point.payload)?;
            if let Some(parent) = self.parents(&[place.key()]).await?.pop()
                && let Some(chunk) = parent.chunks.iter().find(|chunk| chunk.id == id)
            {
                let (range, context) = (chunk.range.clone(), chunk.context.clone());
                return Ok(ChunkLookup::Found(Box::new(ChunkText { id, parent, range, context })));
            }
        }
        self.gone(id).await
    }

    async fn document(&self, id: DocumentId) -> Result<Option<DocumentSummary>, StoreError> {
        let found = self.points([id.0], Wanted::Payload).await?;
        found.into_values().next().map(document).transpose()
    }

    async fn body(&self, id: DocumentId) -> Result<Option<String>, StoreError> {
        let all = [filter::any_id("document", [id.0])];
        let kinds = filter::any("kind", [Kind::Document, Kind::Parent].map(|kind| kind.name().to_owned()));
        let found = self.collection.scroll(READ, &self.own(all.into_iter().chain([kinds])), Wanted::Payload).await?;
        let (documents, parents): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|point| payload::uuid(point.id.clone()) == Some(id.0));
        let Some(document) = documents.into_iter().next().map(document).transpose()? else { return Ok(None) };
        let parents = parents.into_iter().map(|point| payload::parsed::<ParentPayload>(READ, point.payload));
        let mut parents = parents.collect::<Result<Vec<_>, _>>()?;
        parents.retain(|parent| parent.place.version == document.version);
        parents.sort_unstable_by_key(|parent| parent.ordinal);
        Ok(Some(parents.into_iter().map(|parent| parent.text).collect()))
    }

    async fn documents(
        &self,
        filter: &Filter,
        after: Option<(String, String)>,
        limit: usize,
    ) -> Result<Vec<DocumentSummary>, StoreError> {
        let mut found = self.matching(filter).await?;
        let later = |document: &DocumentSummary| {
            after.as_ref().is_none_or(|(source, path)| (&document.source, &document.path) > (source, path))
        };
        found.retain(later);
        found.sort_unstable_by(|a, b| (&a.source, &a.path).cmp(&(&b.source, &b.path)));
        found.truncate(limit);
        Ok(found)
    }

    async fn term_statistics(&self, query: &KeywordQuery) -> Result<TermStatistics, StoreError> {
        let listed = terms::listed(query);
        let having = |term: String| {
            let filter = ServerFilter::must([Condition::matches("terms", term)]);
            self.collection.count(STATISTICS, filter)
        };
        let all = self.collection.count(STATISTICS, ServerFilter::must([filter::kind(Kind::Chunk)]));
        let (chunks, frequencies) =
            futures::future::try_join(all, futures::future::try_join_all(listed.into_iter().map(having))).await?;
        Ok(TermStatistics { chunks, frequencies })
    }

    async fn similar_terms(&self, term: &str, limit: usize) -> Result<Vec<String>, StoreError> {
        let mut similar = Similar::to(term);
        for (listed, frequency) in self.collection.values(STATISTICS, "terms", VOCABULARY).await? {
            similar.offer(terms::spelled(&listed), frequency);
        }
        Ok(similar.nearest(limit))
    }

    async fn probes(&self) -> Result<Option<Probes>, StoreError> {
        Ok(self.state().await?.and_then(|state| state.probes).map(Probes))
    }

    async fn counts(&self) -> Result<Counts, StoreError> {
        Ok(self.state().await?.map_or_else(Counts::default, |state| state.counts))
    }
}
