//! What the operator reports of an object. Written through the status subresource only.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the operator found of a model endpoint.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelEndpointStatus {
    /// The generation of the spec that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Accepted, ResolvedRefs, Ready, Reconciling and Stalled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// How many objects name this endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users: Option<i32>,
    /// The first 16 of them, by kind and name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), extend("x-kubernetes-list-type" = "atomic"))]
    pub used_by: Vec<UserRef>,
}

/// What the operator found of a knowledge base.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KnowledgeBaseStatus {
    /// The generation of the spec that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Accepted, ResolvedRefs, Synced, RebuildAvailable, Ready, Reconciling and Stalled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// The revision that pipelines read: the first digits of its contract's hash. The one place that decides it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_revision: Option<String>,
    /// The revision that is being built beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub building_revision: Option<String>,
    /// Hash of the contract that the spec asks for now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contract_hash: Option<String>,
    /// Documents of the active revision that can be found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documents: Option<i64>,
    /// Their chunks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunks: Option<i64>,
    /// Documents that could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_documents: Option<i64>,
    /// The first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 5), extend("x-kubernetes-list-type" = "atomic"))]
    pub failures: Vec<DocumentFailure>,
    /// The newest complete ingestion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_sync: Option<LastSync>,
    /// The newest ingestion that ended, however.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_run: Option<LastRun>,
    /// When the next ingestion is due by the schedule (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_sync: Option<String>,
}

/// What the operator found of a pipeline.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentPipelineStatus {
    /// The generation of the spec that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Accepted, ResolvedRefs, Progressing, Ready, Reconciling and Stalled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// Where to ask, inside the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Pods that can be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Hash of the configuration that the pods are given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_hash: Option<String>,
    /// Hash of the policy that they are given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_hash: Option<String>,
    /// The revision of each knowledge base that they are given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "atomic"))]
    pub revisions: Vec<ServedRevision>,
}

/// The revision of a knowledge base that a pipeline's pods read.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServedRevision {
    /// Name of the knowledge base.
    pub knowledge_base: String,
    /// Its revision.
    pub revision: String,
}

/// A document that could not be read.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentFailure {
    /// Source and path.
    pub document: String,
    /// What is wrong.
    pub reason: String,
}

/// What a complete ingestion did.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastSync {
    /// The revision that it wrote.
    pub revision: String,
    /// Hash of the configuration that it read.
    pub config_hash: String,
    /// When it began (RFC 3339).
    pub started_at: String,
    /// When it ended (RFC 3339).
    pub finished_at: String,
    /// Documents that were new.
    pub added: i64,
    /// Documents whose text changed.
    pub updated: i64,
    /// Documents that were gone.
    pub removed: i64,
    /// Documents as before.
    pub unchanged: i64,
    /// Chunks whose vector was computed.
    pub embedded: i64,
}

/// How an ingestion ended.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastRun {
    /// Uid of its Job.
    pub job: String,
    /// How it ended.
    pub outcome: RunOutcome,
    /// When that was found (RFC 3339).
    pub finished_at: String,
    /// What it said, or what is known instead.
    pub message: String,
    /// Ingestions in a row that were not complete.
    pub failures: i32,
    /// The revision that it wrote.
    pub revision: String,
    /// Hash of the configuration that it was given.
    pub config_hash: String,
    /// The value of the annotation groundwork.dev/sync-requested-at that it answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync_requested_at: Option<String>,
    /// The value of the annotation groundwork.dev/accept-deletes that it answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accept_deletes: Option<String>,
}

/// How an ingestion ended.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RunOutcome {
    /// Everything is in.
    Complete,
    /// It ended, and something is missing; it is tried again.
    Incomplete,
    /// It failed; it is tried again.
    Failed,
    /// It ended without a word of what it did; it is repeated.
    ReportLost,
}

/// An object that names another.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserRef {
    /// Kind, for example KnowledgeBase.
    pub kind: String,
    /// Name in the same namespace.
    pub name: String,
}

/// What the operator found of a tool policy.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolPolicyStatus {
    /// The generation of the spec that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Accepted, ResolvedRefs, Ready, Reconciling and Stalled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// Every limit in force, defaults included, with the layer that keeps it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "atomic"))]
    pub compiled_to: Vec<CompiledLimit>,
    /// How many pipelines name this policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users: Option<i32>,
    /// The first 16 of them, by kind and name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), extend("x-kubernetes-list-type" = "atomic"))]
    pub used_by: Vec<UserRef>,
}

/// A limit as it is kept.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompiledLimit {
    /// Path of the field that sets it.
    pub field: String,
    /// The value in force, with its unit.
    pub value: String,
    /// Who keeps it.
    pub layer: Layer,
}

/// Who keeps a limit.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Layer {
    /// The runtime's process, before a call is made.
    Runtime,
}
