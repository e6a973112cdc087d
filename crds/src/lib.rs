//! The Kubernetes API of Groundwork, group `groundwork.dev`, version `v1alpha1`: types, documentation of every field,
//! bounds, and CEL rules whose messages name the fix.
//!
//! A field is here only if some code honours it. Defaults are documented here and filled in by the compilation
//! (`groundwork_config::compile`), not by the schema: a schema default would show as drift in GitOps tools.
//!
//! The crate holds no client and no runtime. Feature `cel` adds offline evaluation of the rules ([`cel`]).

#[allow(unreachable_pub, reason = "the derive writes helper types beside each struct")]
mod agent_pipeline;
#[cfg(feature = "cel")]
pub mod cel;
pub mod condition;
mod definition;
#[allow(unreachable_pub, reason = "the derive writes helper types beside each struct")]
mod ingestion;
#[allow(unreachable_pub, reason = "the derive writes helper types beside each struct")]
mod knowledge_base;
#[allow(unreachable_pub, reason = "the derive writes helper types beside each struct")]
mod model_endpoint;
mod reference;
mod rules;
#[allow(unreachable_pub, reason = "the derive writes helper types beside each struct")]
mod serving;
mod status;
#[allow(unreachable_pub, reason = "the derive writes helper types beside each struct")]
mod tool_policy;

pub use agent_pipeline::{
    AgentPipeline, AgentPipelineSpec, ChatModelRef, FusionSpec, FusionType, KnowledgeBaseRef, ModelsSpec,
    RetrievalModeSpec, RetrievalSpec, RrfSpec, ToolPolicyRef, WeightsSpec,
};
pub use definition::{API_VERSION, Definition, GROUP, OPERATOR_FIELDS, definition, definitions};
pub use ingestion::{
    IngestionSpec, PullSecretSpec, QuantitiesSpec, RebuildSpec, ResourcesSpec, StateClaimSpec, StateSpec, StateType,
};
pub use knowledge_base::{
    ChunkingSpec, ChunkingStrategySpec, EmbeddingSpec, EmbeddingType, HashingSpec, HnswSpec, InlineDocumentSpec,
    InlineSpec, KeywordSpec, KnowledgeBase, KnowledgeBaseSpec, LanguageSpec, MetadataSpec, ModelEndpointEmbeddingSpec,
    PersistentVolumeClaimSpec, QdrantSpec, SourceSpec, SourceType, SyncSpec, VectorStoreSpec, VectorStoreType,
};
pub use kube::core::ObjectMeta;
pub use model_endpoint::{
    ApiKeySpec, LimitsSpec, ModelEndpoint, ModelEndpointSpec, ModelUse, PricesSpec, SecretKeyRef,
};
pub use reference::{conditions_reference, reference};
pub use serving::{ApiKeysSpec, AuthenticationSpec, AuthenticationType, ExposeSpec, PeerSpec, RuntimeSpec, SecretRef};
pub use status::{
    AgentPipelineStatus, CompiledLimit, DocumentFailure, KnowledgeBaseStatus, LastRun, LastSync, Layer,
    ModelEndpointStatus, RunOutcome, ServedRevision, ToolPolicyStatus, UserRef,
};
pub use tool_policy::{PolicyLimitsSpec, ToolPolicy, ToolPolicySpec};

#[cfg(test)]
mod tests;
