//! The contract between the control plane and the runtime: the plain types that the runtime reads, and (feature
//! `compile`) the pure compilation from manifests to them.
//!
//! Everything here is data. All defaults are filled in: a value that the user left out is written out by the
//! compilation, so that a later change of a default changes nothing that already runs.

mod contract;
mod ingestion;
mod pipeline;
mod policy;
mod serving;
mod source;

#[cfg(feature = "compile")]
pub mod compile;

pub use contract::{
    ANALYSER_VERSION, CHUNKER_VERSION, Chunking, ChunkingStrategy, Contract, EXTRACTOR_VERSION, Embedding, Keyword,
    Language,
};
pub use ingestion::{
    FailedDocument, Ingestion, IngestionReport, Revision, collection_name, parse_collection_name, revision_id,
};
pub use pipeline::{ArmWeights, Endpoint, EndpointUse, Fusion, Pipeline, Prices, Retrieval, RetrievalMode};
pub use policy::{Limits, Policy};
pub use serving::{Authentication, Serving};
pub use source::{InlineDocument, KnowledgeBase, MetadataKeys, Qdrant, Source, SourceKind, Store, SyncPolicy};

use serde::{Deserialize, Serialize};

/// Everything that one runtime process serves: one pipeline with the knowledge bases and the endpoints it names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RuntimeConfig {
    /// The knowledge bases, in the order in which the pipeline names them. Never empty.
    pub knowledge_bases: Vec<KnowledgeBase>,
    /// How questions are answered.
    pub pipeline: Pipeline,
    /// Every model endpoint that a knowledge base or the pipeline names.
    pub endpoints: Vec<Endpoint>,
    /// What a question may use.
    #[serde(default)]
    pub policy: Policy,
}

impl RuntimeConfig {
    /// The endpoint of this name.
    pub fn endpoint(&self, name: &str) -> Option<&Endpoint> {
        self.endpoints.iter().find(|endpoint| endpoint.name == name)
    }
}
