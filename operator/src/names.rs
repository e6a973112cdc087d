//! Names by which the operator is known to the API server.

/// Owner of the fields that the operator writes, and reporter of its events.
pub(crate) const MANAGER: &str = "groundwork-operator";

/// Label of everything that the operator makes.
pub(crate) const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Label of what belongs to a knowledge base.
pub(crate) const KNOWLEDGE_BASE: &str = "groundwork.dev/knowledge-base";
/// Label of what belongs to a pipeline.
pub(crate) const PIPELINE: &str = "groundwork.dev/pipeline";
/// Annotation of a knowledge base: a new value asks for a sync.
pub(crate) const SYNC_REQUESTED_AT: &str = "groundwork.dev/sync-requested-at";
/// Annotation of a knowledge base: a new value asks for a rebuild where one would differ.
pub(crate) const REBUILD_REQUESTED_AT: &str = "groundwork.dev/rebuild-requested-at";
/// Annotation of a knowledge base: a new value lets one ingestion remove more documents than `maxDeletePercent`.
pub(crate) const ACCEPT_DELETES: &str = "groundwork.dev/accept-deletes";
/// Annotation of a Job: hash of the configuration that it was given.
pub(crate) const CONFIG_HASH: &str = "groundwork.dev/config-hash";
/// Annotation of a Job: the revision that it writes.
pub(crate) const REVISION: &str = "groundwork.dev/revision";
/// Annotation of a revision: hash of the fields of the spec that its contract was compiled from.
pub(crate) const SPEC_HASH: &str = "groundwork.dev/spec-hash";
