//! One collection of the server, and the calls that are made on it.

use qdrant_client::qdrant::{
    BatchResult, CountPointsBuilder, CreateCollectionBuilder, CreateFieldIndexCollectionBuilder,
    DeletePointVectorsBuilder, DeletePointsBuilder, Distance, FacetCountsBuilder, FieldType, Filter, GetPointsBuilder,
    HnswConfigDiffBuilder, Modifier, PointId, PointStruct, PointVectors, QueryBatchPointsBuilder, QueryPoints,
    RetrievedPoint, ScrollPointsBuilder, SetPayloadPointsBuilder, SparseVectorParamsBuilder,
    SparseVectorsConfigBuilder, UpdatePointVectorsBuilder, UpsertPointsBuilder, Value, VectorParamsBuilder,
    VectorsConfigBuilder, VectorsSelector, facet_value, with_payload_selector, with_vectors_selector,
};
use qdrant_client::{Qdrant, QdrantError};
use std::collections::HashMap;

use super::QdrantOptions;
use super::points::NewPoint;
use crate::store::StoreError;
use crate::store::state::database::engine;

/// Name of the dense vectors of chunks.
pub(super) const DENSE: &str = "dense";
/// Name of the keyword weights of chunks.
pub(super) const KEYWORDS: &str = "keywords";
/// Name of the keyword weights of parents: apart, so that both kinds have statistics of their own.
pub(super) const PARENT_KEYWORDS: &str = "parent_keywords";
/// Points a request.
const BATCH_POINTS: usize = 256;
/// Text a request, in bytes; a server takes 32 MiB by default.
const BATCH_BYTES: usize = 4 << 20;
/// Points a page.
const PAGE: u32 = 512;
/// Fields that filters ask.
const INDEXED: [(&str, FieldType); 9] = [
    ("kind", FieldType::Keyword),
    ("document", FieldType::Keyword),
    ("write", FieldType::Keyword),
    ("access", FieldType::Keyword),
    ("tags", FieldType::Keyword),
    ("date", FieldType::Integer),
    ("parent_point", FieldType::Keyword),
    ("terms", FieldType::Keyword),
    ("sequence", FieldType::Integer),
];

type Payload = HashMap<String, Value>;

/// What a read brings besides ids.
#[derive(Clone, Copy)]
pub(super) enum Wanted {
    /// The whole payload.
    Payload,
    /// These fields.
    Fields(&'static [&'static str]),
    /// These fields and the dense vector.
    Dense(&'static [&'static str]),
    /// Payload and dense vector.
    All,
}

impl Wanted {
    fn payload(self) -> with_payload_selector::SelectorOptions {
        match self {
            Self::Payload | Self::All => true.into(),
            Self::Fields(fields) | Self::Dense(fields) => include(fields),
        }
    }

    fn vectors(self) -> with_vectors_selector::SelectorOptions {
        match self {
            Self::Payload | Self::Fields(_) => false.into(),
            Self::Dense(_) | Self::All => VectorsSelector { names: vec![DENSE.to_owned()] }.into(),
        }
    }
}

/// Payload fields by name.
pub(super) fn include(fields: &[&str]) -> with_payload_selector::SelectorOptions {
    let fields = fields.iter().map(|&field| field.to_owned()).collect();
    with_payload_selector::SelectorOptions::Include(qdrant_client::qdrant::PayloadIncludeSelector { fields })
}

/// A collection by name. Writes wait until they are applied.
#[derive(Clone)]
pub(super) struct Collection {
    client: Qdrant,
    name: String,
}

fn failed(action: &'static str) -> impl Fn(QdrantError) -> StoreError {
    move |error| engine(action, error)
}

impl Collection {
    pub(super) fn new(client: Qdrant, name: String) -> Self {
        Self { client, name }
    }

    /// Makes the collection and its indexes where they are missing.
    pub(super) async fn provision(&self, options: &QdrantOptions, dimensions: Option<u32>) -> Result<(), StoreError> {
        let action = "provision the collection";
        let exists = self.client.collection_exists(&self.name).await.map_err(failed(action))?;
        if !exists {
            self.create(options, dimensions).await.map_err(failed(action))?;
        }
        for (field, kind) in INDEXED {
            let index = CreateFieldIndexCollectionBuilder::new(&self.name, field, kind).wait(true);
            self.client.create_field_index(index).await.map_err(failed(action))?;
        }
        Ok(())
    }

    async fn create(&self, options: &QdrantOptions, dimensions: Option<u32>) -> Result<(), QdrantError> {
        let graph = HnswConfigDiffBuilder::default()
            .m(u64::from(options.graph.m))
            .ef_construct(u64::from(options.graph.ef_construct));
        let mut sparse = SparseVectorsConfigBuilder::default();
        for name in [KEYWORDS, PARENT_KEYWORDS] {
            sparse.add_named_vector_params(name, SparseVectorParamsBuilder::default().modifier(Modifier::Idf));
        }
        let mut dense = VectorsConfigBuilder::default();
        if let Some(size) = dimensions {
            dense.add_named_vector_params(DENSE, VectorParamsBuilder::new(size.into(), Distance::Cosine));
        }
        let request = CreateCollectionBuilder::new(&self.name)
            .vectors_config(dense)
            .sparse_vectors_config(sparse)
            .hnsw_config(graph)
            .shard_number(options.shards)
            .replication_factor(options.replicas)
            .on_disk_payload(true);
        match self.client.create_collection(request).await {
            // Another call of ours may have come first.
            Err(QdrantError::ResponseError { status }) if status.message().contains("already exists") => Ok(()),
            other => other.map(drop),
        }
    }

    /// Removes the collection with everything in it.
    pub(super) async fn remove(&self) -> Result<(), StoreError> {
        self.client.delete_collection(&self.name).await.map(drop).map_err(failed("remove the collection"))
    }

    /// Writes points, in as many requests as they need.
    pub(super) async fn upsert(&self, action: &'static str, points: Vec<NewPoint>) -> Result<(), StoreError> {
        let mut batch: Vec<PointStruct> = Vec::new();
        let mut bytes = 0;
        for point in points {
            if batch.len() == BATCH_POINTS || (bytes + point.bytes > BATCH_BYTES && !batch.is_empty()) {
                self.upsert_batch(action, std::mem::take(&mut batch)).await?;
                bytes = 0;
            }
            bytes += point.bytes;
            batch.push(point.point);
        }
        self.upsert_batch(action, batch).await
    }

    async fn upsert_batch(&self, action: &'static str, points: Vec<PointStruct>) -> Result<(), StoreError> {
        if points.is_empty() {
            return Ok(());
        }
        let request = UpsertPointsBuilder::new(&self.name, points).wait(true);
        self.client.upsert_points(request).await.map(drop).map_err(failed(action))
    }

    /// Removes the points that pass.
    pub(super) async fn delete(&self, action: &'static str, filter: Filter) -> Result<(), StoreError> {
        let request = DeletePointsBuilder::new(&self.name).points(filter).wait(true);
        self.client.delete_points(request).await.map(drop).map_err(failed(action))
    }

    /// Sets payload fields of the points that pass.
    pub(super) async fn set(&self, action: &'static str, filter: Filter, fields: Payload) -> Result<(), StoreError> {
        let request = SetPayloadPointsBuilder::new(&self.name, fields).points_selector(filter).wait(true);
        self.client.set_payload(request).await.map(drop).map_err(failed(action))
    }

    /// Gives existing points vectors; their others stay.
    pub(super) async fn set_vectors(&self, action: &'static str, points: Vec<PointVectors>) -> Result<(), StoreError> {
        for batch in points.chunks(BATCH_POINTS) {
            let request = UpdatePointVectorsBuilder::new(&self.name, batch).wait(true);
            self.client.update_vectors(request).await.map_err(failed(action))?;
        }
        Ok(())
    }

    /// Removes the dense vectors of the points that pass.
    pub(super) async fn delete_dense(&self, action: &'static str, filter: Filter) -> Result<(), StoreError> {
        let request = DeletePointVectorsBuilder::new(&self.name)
            .points_selector(filter)
            .vectors(VectorsSelector { names: vec![DENSE.to_owned()] })
            .wait(true);
        self.client.delete_vectors(request).await.map(drop).map_err(failed(action))
    }

    /// Points by id, in any order; those that are not there are left out.
    pub(super) async fn get(
        &self,
        action: &'static str,
        ids: Vec<PointId>,
        wanted: Wanted,
    ) -> Result<Vec<RetrievedPoint>, StoreError> {
        let mut found = Vec::with_capacity(ids.len());
        for batch in ids.chunks(BATCH_POINTS) {
            let request =
                GetPointsBuilder::new(&self.name, batch).with_payload(wanted.payload()).with_vectors(wanted.vectors());
            found.extend(self.client.get_points(request).await.map_err(failed(action))?.result);
        }
        Ok(found)
    }

    /// The points that pass, by id, a page at a time: from `after`, and where the next page begins.
    pub(super) async fn page(
        &self,
        action: &'static str,
        filter: &Filter,
        wanted: Wanted,
        after: Option<PointId>,
    ) -> Result<(Vec<RetrievedPoint>, Option<PointId>), StoreError> {
        let mut request = ScrollPointsBuilder::new(&self.name)
            .filter(filter.clone())
            .limit(PAGE)
            .with_payload(wanted.payload())
            .with_vectors(wanted.vectors());
        if let Some(after) = after {
            request = request.offset(after);
        }
        let response = self.client.scroll(request).await.map_err(failed(action))?;
        Ok((response.result, response.next_page_offset))
    }

    /// All points that pass, by id.
    pub(super) async fn scroll(
        &self,
        action: &'static str,
        filter: &Filter,
        wanted: Wanted,
    ) -> Result<Vec<RetrievedPoint>, StoreError> {
        let (mut found, mut next) = self.page(action, filter, wanted, None).await?;
        while let Some(after) = next {
            let (page, following) = self.page(action, filter, wanted, Some(after)).await?;
            found.extend(page);
            next = following;
        }
        Ok(found)
    }

    /// How many points pass, exactly.
    pub(super) async fn count(&self, action: &'static str, filter: Filter) -> Result<u64, StoreError> {
        let request = CountPointsBuilder::new(&self.name).filter(filter).exact(true);
        let response = self.client.count(request).await.map_err(failed(action))?;
        Ok(response.result.map_or(0, |result| result.count))
    }

    /// The most frequent values of a field with the number of points that have each.
    pub(super) async fn values(
        &self,
        action: &'static str,
        field: &str,
        limit: u64,
    ) -> Result<Vec<(String, u64)>, StoreError> {
        let request = FacetCountsBuilder::new(&self.name, field).limit(limit);
        let response = self.client.facet(request).await.map_err(failed(action))?;
        let value = |hit: qdrant_client::qdrant::FacetHit| match hit.value?.variant? {
            facet_value::Variant::StringValue(value) => Some((value, hit.count)),
            _ => None,
        };
        Ok(response.hits.into_iter().filter_map(value).collect())
    }

    /// Several queries in one request.
    pub(super) async fn query(
        &self,
        action: &'static str,
        queries: Vec<QueryPoints>,
    ) -> Result<Vec<BatchResult>, StoreError> {
        let request = QueryBatchPointsBuilder::new(&self.name, queries);
        Ok(self.client.query_batch(request).await.map_err(failed(action))?.result)
    }

    /// Its name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }
}
