use groundwork_crds::{QdrantSpec, VectorStoreSpec, VectorStoreType};
use std::path::Path;

use super::numbers::whole_or;
use super::secret::secret_file;
use super::{Error, Place};
use crate::{Qdrant, Store};

const DEFAULT_M: u32 = 16;
const DEFAULT_EF_CONSTRUCT: u32 = 128;

/// Where a knowledge base is kept; `place` finds the fields of `spec.vectorStore`.
pub(super) fn compile(
    spec: Option<&VectorStoreSpec>,
    secrets_dir: &Path,
    place: impl Fn(&str) -> Box<Place>,
) -> Result<Store, Error> {
    match spec.map(|spec| (spec.r#type, &spec.qdrant)) {
        None | Some((VectorStoreType::Embedded, _)) => Ok(Store::Embedded),
        Some((VectorStoreType::Qdrant, Some(qdrant))) => compile_qdrant(qdrant, secrets_dir, place),
        Some((VectorStoreType::Qdrant, None)) => Err(Error::Missing { place: place("qdrant") }),
    }
}

fn compile_qdrant(spec: &QdrantSpec, secrets_dir: &Path, place: impl Fn(&str) -> Box<Place>) -> Result<Store, Error> {
    let at = |field: &str| place(&format!("qdrant.{field}"));
    let key = spec.credentials.as_ref().map(|key| &key.secret_key_ref);
    let key = key.map(|key| secret_file(|field| at(&format!("credentials.{field}")), key, secrets_dir));
    let hnsw = spec.hnsw.clone().unwrap_or_default();
    Ok(Store::Qdrant(Qdrant {
        url: spec.url.trim_end_matches('/').to_owned(),
        api_key_file: key.transpose()?,
        shards: whole_or(at("shards"), spec.shards, 1)?,
        replicas: whole_or(at("replicas"), spec.replicas, 1)?,
        hnsw_m: whole_or(at("hnsw.m"), hnsw.m, DEFAULT_M)?,
        hnsw_ef_construct: whole_or(at("hnsw.efConstruct"), hnsw.ef_construct, DEFAULT_EF_CONSTRUCT)?,
    }))
}
