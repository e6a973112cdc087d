use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// Asks for a sync now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SyncRequest {
    /// Whether this one sync may remove more documents than `maxDeletePercent` allows.
    pub(crate) accept_deletes: bool,
    /// Whether the reply waits for vectors too, not for keywords only.
    pub(crate) wait_for_vectors: bool,
}

/// What a sync did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct SyncResponse {
    /// One report a knowledge base.
    pub(crate) reports: Vec<SyncReport>,
}

/// What one sync of one knowledge base did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct SyncReport {
    /// The knowledge base.
    pub(crate) knowledge_base: String,
    /// Identity of the revision written to.
    pub(crate) revision: String,
    /// When it began (RFC 3339).
    pub(crate) started_at: String,
    /// Wall time until keywords were complete, in milliseconds.
    pub(crate) elapsed_ms: u64,
    /// Documents new since the last sync.
    pub(crate) added: u64,
    /// Documents whose text changed.
    pub(crate) updated: u64,
    /// Documents that are gone.
    pub(crate) removed: u64,
    /// Documents as before.
    pub(crate) unchanged: u64,
    /// Documents that failed, now or before and unchanged since.
    pub(crate) failed: Vec<DocumentProblem>,
    /// Files left out, by reason.
    pub(crate) skipped: BTreeMap<String, u64>,
    /// Documents listed, by format.
    pub(crate) formats: BTreeMap<String, u64>,
    /// Chunks written.
    pub(crate) chunks: u64,
    /// Chunks that got a vector computed.
    pub(crate) embedded: u64,
    /// Chunks that got a stored vector of the same text.
    pub(crate) reused: u64,
    /// Things a person should know, such as removals that were held back.
    pub(crate) notes: Vec<String>,
    /// Why it did not finish, if it did not.
    pub(crate) error: Option<String>,
}

/// A document that could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct DocumentProblem {
    /// `source/path`.
    pub(crate) document: String,
    /// What is wrong, and the fix where there is one.
    pub(crate) reason: String,
}

/// What the instance is and how far it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Status {
    /// Version of the binary.
    pub(crate) version: String,
    /// Whether questions can be asked: keywords of every knowledge base are in.
    pub(crate) ready: bool,
    /// Folder that is served.
    pub(crate) folder: String,
    /// Name of the pipeline.
    pub(crate) pipeline: String,
    /// Who writes answers: `quotes from your documents`, or the chat model's name.
    pub(crate) written_by: String,
    /// One entry a knowledge base.
    pub(crate) knowledge_bases: Vec<KnowledgeBaseStatus>,
}

/// How far a knowledge base is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct KnowledgeBaseStatus {
    /// Name.
    pub(crate) name: String,
    /// What it is doing.
    pub(crate) phase: Phase,
    /// Revision that questions read; none before the first is complete.
    pub(crate) revision: Option<String>,
    /// Revision that is being built beside it.
    pub(crate) building_revision: Option<String>,
    /// Files looked at by the running sync, and how many there are.
    pub(crate) files_done: u64,
    /// Files that the running sync has to look at.
    pub(crate) files_total: u64,
    /// Documents that can be found.
    pub(crate) documents: u64,
    /// Their chunks.
    pub(crate) chunks: u64,
    /// Chunks that have a vector.
    pub(crate) vectors: u64,
    /// Chunks that will never have one (language outside the embedder's, or no embedder).
    pub(crate) without_vector: u64,
    /// Documents whose newest state failed.
    pub(crate) failed: u64,
    /// Seconds until vectors are complete, where known.
    pub(crate) remaining_seconds: Option<u64>,
    /// Identity of the embedder; none where there is no dense arm.
    pub(crate) embedder: Option<String>,
    /// What the last finished sync did.
    pub(crate) last_sync: Option<SyncReport>,
    /// Why the last sync did not finish, if it did not.
    pub(crate) problem: Option<String>,
}

/// What a knowledge base is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Phase {
    /// Nothing yet.
    #[default]
    Starting,
    /// Files are loaded, cut and indexed.
    Keywords,
    /// Chunks get their vectors; questions can be asked.
    Vectors,
    /// Up to date.
    Idle,
}
