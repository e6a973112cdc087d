//! The service of points.

use qdrant_client::qdrant::points_selector::PointsSelectorOneOf;
use qdrant_client::qdrant::points_server::Points;
use qdrant_client::qdrant::query::Variant;
use qdrant_client::qdrant::{
    BatchResult, ClearPayloadPoints, CountPoints, CountResponse, CountResult, CreateFieldIndexCollection,
    CreateVectorNameRequest, DeleteFieldIndexCollection, DeletePayloadPoints, DeletePointVectors, DeletePoints,
    DeleteVectorNameRequest, DiscoverBatchPoints, DiscoverBatchResponse, DiscoverPoints, DiscoverResponse, FacetCounts,
    FacetHit, FacetResponse, FacetValue as ProtoFacetValue, FieldType, GetPoints, GetResponse, PointStruct,
    PointsOperationResponse, PointsSelector, QueryBatchPoints, QueryBatchResponse, QueryGroupsResponse,
    QueryPointGroups, QueryPoints, QueryResponse, RecommendBatchPoints, RecommendBatchResponse,
    RecommendGroupsResponse, RecommendPointGroups, RecommendPoints, RecommendResponse, RetrievedPoint, ScoredPoint,
    ScrollPoints, ScrollResponse, SearchBatchPoints, SearchBatchResponse, SearchGroupsResponse,
    SearchMatrixOffsetsResponse, SearchMatrixPairsResponse, SearchMatrixPoints, SearchParams, SearchPointGroups,
    SearchPoints, SearchResponse, SetPayloadPoints, UpdateBatchPoints, UpdateBatchResponse, UpdatePointVectors,
    UpdateResult, UpsertPoints, facet_value, vector_input,
};
use qdrant_edge::{
    CountRequest, CreateIndex, EdgeShard, FacetRequest, FacetValue, FieldIndexOperations, NamedQuery,
    PayloadFieldSchema, PayloadOps, PayloadSchemaType, PointIdsList, PointInsertOperations, PointOperations,
    PointStructPersisted, PointVectorsPersisted, QueryEnum, QueryRequest, Record, ScoringQuery, ScrollRequest,
    SearchParams as EdgeSearchParams, SetPayloadOp, UpdateOperation, UpdateVectorsOp, VectorInternal, VectorOperations,
};
use tonic::{Request, Response, Status};

use crate::convert;
use crate::refuse;
use crate::store::{Store, status};

const COMPLETED: i32 = 2;

fn done() -> Response<PointsOperationResponse> {
    let result = Some(UpdateResult { operation_id: Some(0), status: COMPLETED });
    Response::new(PointsOperationResponse { result, ..PointsOperationResponse::default() })
}

impl Store {
    async fn update(&self, collection: &str, operation: UpdateOperation) -> Result<(), Status> {
        self.on(collection, move |shard| shard.update(operation).map_err(|error| status(&error))).await
    }
}

#[tonic::async_trait]
impl Points for Store {
    async fn upsert(&self, request: Request<UpsertPoints>) -> Result<Response<PointsOperationResponse>, Status> {
        let request = request.into_inner();
        let points = request.points.into_iter().map(point).collect::<Result<_, _>>()?;
        let operation = PointOperations::UpsertPoints(PointInsertOperations::PointsList(points));
        self.update(&request.collection_name, UpdateOperation::PointOperation(operation)).await?;
        Ok(done())
    }

    async fn delete(&self, request: Request<DeletePoints>) -> Result<Response<PointsOperationResponse>, Status> {
        let request = request.into_inner();
        let operation = match selected(request.points)? {
            Selected::Ids(ids) => PointOperations::DeletePoints { ids },
            Selected::Filter(filter) => PointOperations::DeletePointsByFilter(filter),
        };
        self.update(&request.collection_name, UpdateOperation::PointOperation(operation)).await?;
        Ok(done())
    }

    async fn get(&self, request: Request<GetPoints>) -> Result<Response<GetResponse>, Status> {
        let request = request.into_inner();
        let ids = convert::ids(request.ids)?;
        let payload = convert::with_payload(request.with_payload);
        let vectors = convert::with_vectors(request.with_vectors);
        let read =
            move |shard: &EdgeShard| shard.retrieve(&ids, Some(payload), Some(vectors)).map_err(|error| status(&error));
        let records = self.on(&request.collection_name, read).await?;
        let result = records.into_iter().map(record).collect();
        Ok(Response::new(GetResponse { result, ..GetResponse::default() }))
    }

    async fn update_vectors(
        &self,
        request: Request<UpdatePointVectors>,
    ) -> Result<Response<PointsOperationResponse>, Status> {
        let request = request.into_inner();
        let mut points = Vec::new();
        for point in request.points {
            let id = convert::id(point.id.unwrap_or_default())?;
            points.push(PointVectorsPersisted { id, vector: convert::vectors(point.vectors)? });
        }
        let operation = VectorOperations::UpdateVectors(UpdateVectorsOp { points, update_filter: None });
        self.update(&request.collection_name, UpdateOperation::VectorOperation(operation)).await?;
        Ok(done())
    }

    async fn delete_vectors(
        &self,
        request: Request<DeletePointVectors>,
    ) -> Result<Response<PointsOperationResponse>, Status> {
        let request = request.into_inner();
        let names = request.vectors.map(|vectors| vectors.names).unwrap_or_default();
        let operation = match selected(request.points_selector)? {
            Selected::Ids(ids) => VectorOperations::DeleteVectors(PointIdsList::from(ids), names),
            Selected::Filter(filter) => VectorOperations::DeleteVectorsByFilter(filter, names),
        };
        self.update(&request.collection_name, UpdateOperation::VectorOperation(operation)).await?;
        Ok(done())
    }

    async fn set_payload(
        &self,
        request: Request<SetPayloadPoints>,
    ) -> Result<Response<PointsOperationResponse>, Status> {
        let request = request.into_inner();
        let (points, filter) = match selected(request.points_selector)? {
            Selected::Ids(ids) => (Some(ids), None),
            Selected::Filter(filter) => (None, Some(filter)),
        };
        let payload = convert::payload(request.payload);
        let operation = PayloadOps::SetPayload(SetPayloadOp { payload, points, filter, key: None });
        self.update(&request.collection_name, UpdateOperation::PayloadOperation(operation)).await?;
        Ok(done())
    }

    async fn create_field_index(
        &self,
        request: Request<CreateFieldIndexCollection>,
    ) -> Result<Response<PointsOperationResponse>, Status> {
        let request = request.into_inner();
        let kind = match request.field_type() {
            FieldType::Keyword => PayloadSchemaType::Keyword,
            FieldType::Integer => PayloadSchemaType::Integer,
            FieldType::Bool => PayloadSchemaType::Bool,
            FieldType::Uuid => PayloadSchemaType::Uuid,
            other => return Err(Status::unimplemented(format!("the double has no index of {other:?}"))),
        };
        let field_name = request.field_name.parse().map_err(|()| Status::invalid_argument("no name of a field"))?;
        let index = CreateIndex { field_name, field_schema: Some(PayloadFieldSchema::FieldType(kind)) };
        let operation = FieldIndexOperations::CreateIndex(index);
        self.update(&request.collection_name, UpdateOperation::FieldIndexOperation(operation)).await?;
        Ok(done())
    }

    async fn scroll(&self, request: Request<ScrollPoints>) -> Result<Response<ScrollResponse>, Status> {
        let request = request.into_inner();
        if request.order_by.is_some() {
            return Err(Status::unimplemented("the double has no order_by"));
        }
        let wanted = ScrollRequest {
            offset: request.offset.map(convert::id).transpose()?,
            limit: request.limit.map(|limit| limit as usize),
            filter: convert::filter(request.filter)?,
            with_payload: Some(convert::with_payload(request.with_payload)),
            with_vector: convert::with_vectors(request.with_vectors),
            order_by: None,
        };
        let read = move |shard: &EdgeShard| shard.scroll(wanted).map_err(|error| status(&error));
        let (records, next) = self.on(&request.collection_name, read).await?;
        Ok(Response::new(ScrollResponse {
            next_page_offset: next.map(convert::id_out),
            result: records.into_iter().map(record).collect(),
            ..ScrollResponse::default()
        }))
    }

    async fn count(&self, request: Request<CountPoints>) -> Result<Response<CountResponse>, Status> {
        let request = request.into_inner();
        let wanted = CountRequest { filter: convert::filter(request.filter)?, exact: request.exact.unwrap_or(true) };
        let read = move |shard: &EdgeShard| shard.count(wanted).map_err(|error| status(&error));
        let count = self.on(&request.collection_name, read).await? as u64;
        Ok(Response::new(CountResponse { result: Some(CountResult { count }), ..CountResponse::default() }))
    }

    async fn query(&self, request: Request<QueryPoints>) -> Result<Response<QueryResponse>, Status> {
        let result = self.find(request.into_inner()).await?;
        Ok(Response::new(QueryResponse { result, ..QueryResponse::default() }))
    }

    async fn query_batch(&self, request: Request<QueryBatchPoints>) -> Result<Response<QueryBatchResponse>, Status> {
        let mut result = Vec::new();
        for query in request.into_inner().query_points {
            result.push(BatchResult { result: self.find(query).await? });
        }
        Ok(Response::new(QueryBatchResponse { result, ..QueryBatchResponse::default() }))
    }

    async fn facet(&self, request: Request<FacetCounts>) -> Result<Response<FacetResponse>, Status> {
        let request = request.into_inner();
        let wanted = FacetRequest {
            key: request.key.parse().map_err(|()| Status::invalid_argument("no name of a field"))?,
            limit: request.limit.unwrap_or(10) as usize,
            filter: convert::filter(request.filter)?,
            exact: request.exact.unwrap_or(false),
        };
        let read = move |shard: &EdgeShard| shard.facet(wanted).map_err(|error| status(&error));
        let found = self.on(&request.collection_name, read).await?;
        let value = |value| match value {
            FacetValue::Keyword(value) => facet_value::Variant::StringValue(value),
            FacetValue::Int(value) => facet_value::Variant::IntegerValue(value),
            FacetValue::Bool(value) => facet_value::Variant::BoolValue(value),
            FacetValue::Uuid(value) => facet_value::Variant::StringValue(format!("{value:032x}")),
        };
        let hits = found.hits.into_iter().map(|hit| FacetHit {
            value: Some(ProtoFacetValue { variant: Some(value(hit.value)) }),
            count: hit.count as u64,
        });
        Ok(Response::new(FacetResponse { hits: hits.collect(), ..FacetResponse::default() }))
    }

    refuse! {
        overwrite_payload(SetPayloadPoints) -> PointsOperationResponse;
        delete_payload(DeletePayloadPoints) -> PointsOperationResponse;
        clear_payload(ClearPayloadPoints) -> PointsOperationResponse;
        delete_field_index(DeleteFieldIndexCollection) -> PointsOperationResponse;
        create_vector_name(CreateVectorNameRequest) -> PointsOperationResponse;
        delete_vector_name(DeleteVectorNameRequest) -> PointsOperationResponse;
        search(SearchPoints) -> SearchResponse;
        search_batch(SearchBatchPoints) -> SearchBatchResponse;
        search_groups(SearchPointGroups) -> SearchGroupsResponse;
        recommend(RecommendPoints) -> RecommendResponse;
        recommend_batch(RecommendBatchPoints) -> RecommendBatchResponse;
        recommend_groups(RecommendPointGroups) -> RecommendGroupsResponse;
        discover(DiscoverPoints) -> DiscoverResponse;
        discover_batch(DiscoverBatchPoints) -> DiscoverBatchResponse;
        update_batch(UpdateBatchPoints) -> UpdateBatchResponse;
        query_groups(QueryPointGroups) -> QueryGroupsResponse;
        search_matrix_pairs(SearchMatrixPoints) -> SearchMatrixPairsResponse;
        search_matrix_offsets(SearchMatrixPoints) -> SearchMatrixOffsetsResponse;
    }
}

impl Store {
    async fn find(&self, request: QueryPoints) -> Result<Vec<ScoredPoint>, Status> {
        if !request.prefetch.is_empty() || request.lookup_from.is_some() || request.score_threshold.is_some() {
            return Err(Status::unimplemented("the double has plain queries only"));
        }
        let Some(Variant::Nearest(vector)) = request.query.and_then(|query| query.variant) else {
            return Err(Status::unimplemented("the double has nearest-neighbour queries only"));
        };
        let query = match vector.variant {
            Some(vector_input::Variant::Dense(dense)) => VectorInternal::Dense(dense.data),
            Some(vector_input::Variant::Sparse(sparse)) => VectorInternal::Sparse(convert::edge_sparse(sparse)?),
            _ => return Err(Status::unimplemented("the double has no such query vector")),
        };
        let wanted = QueryRequest {
            prefetches: Vec::new(),
            query: Some(ScoringQuery::Vector(QueryEnum::Nearest(NamedQuery { query, using: request.using }))),
            filter: convert::filter(request.filter)?,
            score_threshold: None,
            limit: request.limit.unwrap_or(10) as usize,
            offset: request.offset.unwrap_or(0) as usize,
            params: request.params.map(params).transpose()?,
            with_vector: convert::with_vectors(request.with_vectors),
            with_payload: convert::with_payload(request.with_payload),
        };
        let read = move |shard: &EdgeShard| shard.query(wanted).map_err(|error| status(&error));
        let found = self.on(&request.collection_name, read).await?;
        let hit = |point: qdrant_edge::ScoredPoint| ScoredPoint {
            id: Some(convert::id_out(point.id)),
            payload: convert::payload_out(point.payload),
            score: point.score,
            version: point.version,
            vectors: convert::vectors_out(point.vector),
            ..ScoredPoint::default()
        };
        Ok(found.into_iter().map(hit).collect())
    }
}

fn params(params: SearchParams) -> Result<EdgeSearchParams, Status> {
    if params.idf.is_some() || params.quantization.is_some() || params.acorn.is_some() {
        return Err(Status::unimplemented("the double has no such search parameters"));
    }
    Ok(EdgeSearchParams {
        hnsw_ef: params.hnsw_ef.map(|ef| ef as usize),
        exact: params.exact.unwrap_or(false),
        indexed_only: params.indexed_only.unwrap_or(false),
        ..EdgeSearchParams::default()
    })
}

fn point(point: PointStruct) -> Result<PointStructPersisted, Status> {
    Ok(PointStructPersisted {
        id: convert::id(point.id.unwrap_or_default())?,
        vector: convert::vectors(point.vectors)?,
        payload: Some(convert::payload(point.payload)),
    })
}

fn record(record: Record) -> RetrievedPoint {
    RetrievedPoint {
        id: Some(convert::id_out(record.id)),
        payload: convert::payload_out(record.payload),
        vectors: convert::vectors_out(record.vector),
        ..RetrievedPoint::default()
    }
}

enum Selected {
    Ids(Vec<qdrant_edge::PointId>),
    Filter(qdrant_edge::Filter),
}

fn selected(selector: Option<PointsSelector>) -> Result<Selected, Status> {
    match selector.and_then(|selector| selector.points_selector_one_of) {
        Some(PointsSelectorOneOf::Points(list)) => Ok(Selected::Ids(convert::ids(list.ids)?)),
        Some(PointsSelectorOneOf::Filter(filter)) => {
            Ok(Selected::Filter(convert::filter(Some(filter))?.unwrap_or_default()))
        }
        None => Err(Status::invalid_argument("no points are selected")),
    }
}
