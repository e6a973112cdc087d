//! The service of collections.

use qdrant_client::qdrant::collections_server::Collections;
use qdrant_client::qdrant::vectors_config::Config;
use qdrant_client::qdrant::{
    ChangeAliases, CollectionClusterInfoRequest, CollectionClusterInfoResponse, CollectionDescription,
    CollectionExists, CollectionExistsRequest, CollectionExistsResponse, CollectionOperationResponse, CreateCollection,
    CreateShardKeyRequest, CreateShardKeyResponse, DeleteCollection, DeleteShardKeyRequest, DeleteShardKeyResponse,
    Distance as ProtoDistance, GetCollectionInfoRequest, GetCollectionInfoResponse, HnswConfigDiff, ListAliasesRequest,
    ListAliasesResponse, ListCollectionAliasesRequest, ListCollectionsRequest, ListCollectionsResponse,
    ListShardKeysRequest, ListShardKeysResponse, Modifier as ProtoModifier, UpdateCollection,
    UpdateCollectionClusterSetupRequest, UpdateCollectionClusterSetupResponse, VectorParams,
};
use qdrant_edge::{
    Distance, EdgeConfig, EdgeConfigBuilder, EdgeSparseVectorParamsBuilder, EdgeVectorParams, HnswIndexConfig,
    Modifier, WalOptions,
};
use tonic::{Request, Response, Status};

use crate::refuse;
use crate::store::Store;

/// Room in a log file: the engine's default of 32 MiB would be written for each of a test's collections.
const LOG_BYTES: usize = 1 << 20;

#[tonic::async_trait]
impl Collections for Store {
    async fn create(
        &self,
        request: Request<CreateCollection>,
    ) -> Result<Response<CollectionOperationResponse>, Status> {
        let request = request.into_inner();
        self.create(&request.collection_name.clone(), config(request)?)?;
        Ok(Response::new(CollectionOperationResponse { result: true, time: 0.0 }))
    }

    async fn delete(
        &self,
        request: Request<DeleteCollection>,
    ) -> Result<Response<CollectionOperationResponse>, Status> {
        let result = self.drop_collection(&request.into_inner().collection_name)?;
        Ok(Response::new(CollectionOperationResponse { result, time: 0.0 }))
    }

    async fn collection_exists(
        &self,
        request: Request<CollectionExistsRequest>,
    ) -> Result<Response<CollectionExistsResponse>, Status> {
        let exists = self.contains(&request.into_inner().collection_name);
        Ok(Response::new(CollectionExistsResponse { result: Some(CollectionExists { exists }), time: 0.0 }))
    }

    async fn list(&self, _: Request<ListCollectionsRequest>) -> Result<Response<ListCollectionsResponse>, Status> {
        let collections = self.names().into_iter().map(|name| CollectionDescription { name }).collect();
        Ok(Response::new(ListCollectionsResponse { collections, time: 0.0 }))
    }

    refuse! {
        get(GetCollectionInfoRequest) -> GetCollectionInfoResponse;
        update(UpdateCollection) -> CollectionOperationResponse;
        update_aliases(ChangeAliases) -> CollectionOperationResponse;
        list_collection_aliases(ListCollectionAliasesRequest) -> ListAliasesResponse;
        list_aliases(ListAliasesRequest) -> ListAliasesResponse;
        collection_cluster_info(CollectionClusterInfoRequest) -> CollectionClusterInfoResponse;
        update_collection_cluster_setup(UpdateCollectionClusterSetupRequest) -> UpdateCollectionClusterSetupResponse;
        create_shard_key(CreateShardKeyRequest) -> CreateShardKeyResponse;
        delete_shard_key(DeleteShardKeyRequest) -> DeleteShardKeyResponse;
        list_shard_keys(ListShardKeysRequest) -> ListShardKeysResponse;
    }
}

fn config(request: CreateCollection) -> Result<EdgeConfig, Status> {
    let unsupported = request.quantization_config.is_some() || request.sharding_method.is_some();
    if unsupported {
        return Err(Status::unimplemented("the double has no quantization and no sharding"));
    }
    let wal = WalOptions { segment_capacity: LOG_BYTES, segment_queue_len: 0, ..WalOptions::default() };
    let mut builder = EdgeConfigBuilder::new().on_disk_payload(false).wal_options(wal);
    match request.vectors_config.and_then(|config| config.config) {
        Some(Config::ParamsMap(named)) => {
            for (name, params) in named.map {
                builder = builder.vector(name, dense(&params)?);
            }
        }
        Some(Config::Params(_)) => return Err(Status::unimplemented("the double has named vectors only")),
        None => {}
    }
    for (name, params) in request.sparse_vectors_config.map(|config| config.map).unwrap_or_default() {
        let modifier = match params.modifier() {
            ProtoModifier::None => Modifier::None,
            ProtoModifier::Idf => Modifier::Idf,
        };
        builder = builder.sparse_vector(name, EdgeSparseVectorParamsBuilder::new().modifier(modifier).build());
    }
    if let Some(hnsw) = request.hnsw_config {
        builder = builder.hnsw_config(graph(&hnsw));
    }
    Ok(builder.build())
}

fn dense(params: &VectorParams) -> Result<EdgeVectorParams, Status> {
    let distance = match params.distance() {
        ProtoDistance::Cosine => Distance::Cosine,
        ProtoDistance::Dot => Distance::Dot,
        other => return Err(Status::unimplemented(format!("the double has no distance {other:?}"))),
    };
    Ok(EdgeVectorParams {
        size: params.size as usize,
        distance,
        on_disk: None,
        multivector_config: None,
        datatype: None,
        quantization_config: None,
        hnsw_config: params.hnsw_config.as_ref().map(graph),
    })
}

fn graph(hnsw: &HnswConfigDiff) -> HnswIndexConfig {
    let default = HnswIndexConfig::default();
    HnswIndexConfig {
        m: hnsw.m.map_or(default.m, |m| m as usize),
        ef_construct: hnsw.ef_construct.map_or(default.ef_construct, |ef| ef as usize),
        ..default
    }
}
