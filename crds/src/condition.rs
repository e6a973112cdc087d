//! The words of conditions: types that every kind has, and the reasons that explain them.

/// Whether the spec is valid by itself.
pub const ACCEPTED: &str = "Accepted";
/// Whether everything that the spec names exists and may be used.
pub const RESOLVED_REFS: &str = "ResolvedRefs";
/// Whether the newest ingestion has everything that the sources have.
pub const SYNCED: &str = "Synced";
/// Whether a new index would differ from the one that is read, and nobody has asked for it.
pub const REBUILD_AVAILABLE: &str = "RebuildAvailable";
/// Whether pods of the newest configuration are coming, or have come; False where they do not.
pub const PROGRESSING: &str = "Progressing";
/// Whether the object serves some generation of its spec.
pub const READY: &str = "Ready";
/// True while the spec is not realised; read by kstatus.
pub const RECONCILING: &str = "Reconciling";
/// True when it will not get further until a person acts; read by kstatus.
pub const STALLED: &str = "Stalled";

/// Why a condition has its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Reason {
    /// The spec is valid.
    Accepted,
    /// The spec breaks a rule that the API server does not check.
    Invalid,
    /// The stored object has fields that this operator does not know.
    Undecodable,
    /// Everything that the spec names is there.
    Resolved,
    /// A Secret that the spec names does not exist.
    SecretNotFound,
    /// The Secret exists and lacks the key that the spec names.
    SecretKeyNotFound,
    /// The key of the Secret is empty.
    SecretKeyEmpty,
    /// The operator has no right to read what the spec names.
    NotPermitted,
    /// The object can be used.
    Available,
    /// Something that the spec names is missing; it is looked for again and again.
    WaitingForReferences,
    /// The current spec is realised.
    Reconciled,
    /// Nothing waits for a person.
    Progressing,
    /// It can not be told yet.
    Pending,
    /// The knowledge base lies in a process's own file, which no other pod can read.
    StoreRequired,
    /// A ModelEndpoint that the spec names does not exist in the namespace.
    EndpointNotFound,
    /// The ModelEndpoint exists and its uses do not contain what it is needed for.
    EndpointNotForThis,
    /// A PersistentVolumeClaim that the spec names does not exist in the namespace.
    ClaimNotFound,
    /// The first index is being built, or a new one beside the one that is read.
    Building,
    /// The sources are being read.
    Syncing,
    /// Everything that the sources have is in.
    Complete,
    /// The newest ingestion ended and something is missing; the message says what. It is tried again, ever more rarely.
    Incomplete,
    /// The newest ingestion failed. It is tried again, ever more rarely.
    IngestionFailed,
    /// An ingestion ended and its report is gone. It is repeated, which changes nothing that is right.
    ReportLost,
    /// As many ingestions run as may run at a time.
    WaitingForCapacity,
    /// spec.sync.suspend is true: no ingestion is started.
    Suspended,
    /// No ingestion has ended yet.
    NeverSynced,
    /// A new index would differ from the one that is read; the message says in which fields.
    SpecDiffers,
    /// A new index would not differ from the one that is read.
    SameContract,
    /// It is not said who may ask.
    AuthenticationRequired,
    /// A KnowledgeBase that the spec names does not exist in the namespace.
    KnowledgeBaseNotFound,
    /// A KnowledgeBase that the spec names has no revision yet that could be read.
    KnowledgeBaseNotReady,
    /// The ToolPolicy that the spec names does not exist in the namespace. Pods that run deny every question.
    PolicyNotFound,
    /// Pods of the newest configuration are coming; those before answer meanwhile.
    RollingOut,
    /// All pods have the newest configuration.
    RolledOut,
    /// Pods of the newest configuration do not become ready; those before go on.
    RolloutFailed,
    /// No pod can be asked.
    NoPodReady,
    /// No pod is wanted.
    ScaledToZero,
}

impl Reason {
    /// All reasons.
    pub const ALL: [Self; 37] = [
        Self::Accepted,
        Self::Invalid,
        Self::Undecodable,
        Self::Resolved,
        Self::SecretNotFound,
        Self::SecretKeyNotFound,
        Self::SecretKeyEmpty,
        Self::NotPermitted,
        Self::Available,
        Self::WaitingForReferences,
        Self::Reconciled,
        Self::Progressing,
        Self::Pending,
        Self::StoreRequired,
        Self::EndpointNotFound,
        Self::EndpointNotForThis,
        Self::ClaimNotFound,
        Self::Building,
        Self::Syncing,
        Self::Complete,
        Self::Incomplete,
        Self::IngestionFailed,
        Self::ReportLost,
        Self::WaitingForCapacity,
        Self::Suspended,
        Self::NeverSynced,
        Self::SpecDiffers,
        Self::SameContract,
        Self::AuthenticationRequired,
        Self::KnowledgeBaseNotFound,
        Self::KnowledgeBaseNotReady,
        Self::PolicyNotFound,
        Self::RollingOut,
        Self::RolledOut,
        Self::RolloutFailed,
        Self::NoPodReady,
        Self::ScaledToZero,
    ];

    /// As conditions carry it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Accepted => "Accepted",
            Self::Invalid => "Invalid",
            Self::Undecodable => "Undecodable",
            Self::Resolved => "Resolved",
            Self::SecretNotFound => "SecretNotFound",
            Self::SecretKeyNotFound => "SecretKeyNotFound",
            Self::SecretKeyEmpty => "SecretKeyEmpty",
            Self::NotPermitted => "NotPermitted",
            Self::Available => "Available",
            Self::WaitingForReferences => "WaitingForReferences",
            Self::Reconciled => "Reconciled",
            Self::Progressing => "Progressing",
            Self::Pending => "Pending",
            Self::StoreRequired => "StoreRequired",
            Self::EndpointNotFound => "EndpointNotFound",
            Self::EndpointNotForThis => "EndpointNotForThis",
            Self::ClaimNotFound => "ClaimNotFound",
            Self::Building => "Building",
            Self::Syncing => "Syncing",
            Self::Complete => "Complete",
            Self::Incomplete => "Incomplete",
            Self::IngestionFailed => "IngestionFailed",
            Self::ReportLost => "ReportLost",
            Self::WaitingForCapacity => "WaitingForCapacity",
            Self::Suspended => "Suspended",
            Self::NeverSynced => "NeverSynced",
            Self::SpecDiffers => "SpecDiffers",
            Self::SameContract => "SameContract",
            Self::AuthenticationRequired => "AuthenticationRequired",
            Self::KnowledgeBaseNotFound => "KnowledgeBaseNotFound",
            Self::KnowledgeBaseNotReady => "KnowledgeBaseNotReady",
            Self::PolicyNotFound => "PolicyNotFound",
            Self::RollingOut => "RollingOut",
            Self::RolledOut => "RolledOut",
            Self::RolloutFailed => "RolloutFailed",
            Self::NoPodReady => "NoPodReady",
            Self::ScaledToZero => "ScaledToZero",
        }
    }

    /// What it means.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Accepted => "The spec is valid.",
            Self::Invalid => "The spec breaks a rule that the API server does not check; the message names the field.",
            Self::Undecodable => {
                "The stored object has fields or values that this version of the operator does not know."
            }
            Self::Resolved => "Everything that the spec names exists and may be used.",
            Self::SecretNotFound => "A Secret that the spec names does not exist in the namespace.",
            Self::SecretKeyNotFound => "The Secret exists and lacks the key that the spec names.",
            Self::SecretKeyEmpty => "The key of the Secret that the spec names has no bytes.",
            Self::NotPermitted => "The operator has no right to read what the spec names.",
            Self::Available => "The object can be used.",
            Self::WaitingForReferences => {
                "Something that the spec names is missing; the operator looks again by itself."
            }
            Self::Reconciled => "The current spec is realised.",
            Self::Progressing => "Nothing waits for a person.",
            Self::Pending => "It can not be told yet; another condition says why.",
            Self::StoreRequired => "The knowledge base lies in a process's own file, which no other pod can read.",
            Self::EndpointNotFound => "A ModelEndpoint that the spec names does not exist in the namespace.",
            Self::EndpointNotForThis => "The ModelEndpoint exists and its uses do not contain what it is needed for.",
            Self::ClaimNotFound => "A PersistentVolumeClaim that the spec names does not exist in the namespace.",
            Self::Building => "The first index is being built, or a new one beside the one that is read.",
            Self::Syncing => "The sources are being read.",
            Self::Complete => "Everything that the sources have is in.",
            Self::Incomplete => {
                "The newest ingestion ended and something is missing; the message says what. It is tried again, ever more rarely."
            }
            Self::IngestionFailed => "The newest ingestion failed. It is tried again, ever more rarely.",
            Self::ReportLost => {
                "An ingestion ended and its report is gone. It is repeated, which changes nothing that is right."
            }
            Self::WaitingForCapacity => "As many ingestions run as may run at a time.",
            Self::Suspended => "spec.sync.suspend is true: no ingestion is started.",
            Self::NeverSynced => "No ingestion has ended yet.",
            Self::SpecDiffers => {
                "A new index would differ from the one that is read; the message says in which fields."
            }
            Self::SameContract => "A new index would not differ from the one that is read.",
            Self::AuthenticationRequired => "It is not said who may ask.",
            Self::KnowledgeBaseNotFound => "A KnowledgeBase that the spec names does not exist in the namespace.",
            Self::KnowledgeBaseNotReady => {
                "A KnowledgeBase that the spec names has no revision yet that could be read."
            }
            Self::PolicyNotFound => {
                "The ToolPolicy that the spec names does not exist in the namespace. Pods that run deny every question."
            }
            Self::RollingOut => "Pods of the newest configuration are coming; those before answer meanwhile.",
            Self::RolledOut => "All pods have the newest configuration.",
            Self::RolloutFailed => "Pods of the newest configuration do not become ready; those before go on.",
            Self::NoPodReady => "No pod can be asked.",
            Self::ScaledToZero => "No pod is wanted.",
        }
    }

    /// What to do about it; nothing where nothing is to be done.
    pub fn remedy(self) -> Option<&'static str> {
        match self {
            Self::Accepted
            | Self::Resolved
            | Self::Available
            | Self::Reconciled
            | Self::Progressing
            | Self::Pending
            | Self::Building
            | Self::Syncing
            | Self::Complete
            | Self::ReportLost
            | Self::NeverSynced
            | Self::SameContract
            | Self::RollingOut
            | Self::RolledOut => None,
            Self::Invalid => Some("Change the field that the message names; `groundwork validate -f` checks offline."),
            Self::Undecodable => Some("Upgrade the operator to the version of the definitions, or remove the field."),
            Self::SecretNotFound => Some("Create the Secret in the same namespace, or correct the reference."),
            Self::SecretKeyNotFound => Some("Add the key to the Secret, or correct the reference."),
            Self::SecretKeyEmpty => Some("Put the value into the Secret's key."),
            Self::NotPermitted => Some("Apply the operator's Role of the chart in this namespace."),
            Self::AuthenticationRequired => {
                Some("Set spec.authentication: type ApiKeys with a Secret, or type None where everybody may.")
            }
            Self::KnowledgeBaseNotFound => {
                Some("Create the KnowledgeBase in the same namespace, or correct the reference.")
            }
            Self::KnowledgeBaseNotReady => Some("See the conditions of the KnowledgeBase."),
            Self::PolicyNotFound => Some("Create the ToolPolicy in the same namespace, or correct the reference."),
            Self::RolloutFailed => {
                Some("`kubectl describe pods` and `kubectl logs` of the pods say why; correct the spec or the image.")
            }
            Self::NoPodReady => Some("`kubectl describe pods` and `kubectl logs` of the pods say why."),
            Self::ScaledToZero => Some("Raise spec.runtime.replicas, or `kubectl scale` the Deployment."),
            Self::StoreRequired => Some("Name a server in spec.vectorStore, for example type Qdrant."),
            Self::EndpointNotFound => Some("Create the ModelEndpoint in the same namespace, or correct the reference."),
            Self::EndpointNotForThis => Some("Add the use to the ModelEndpoint's spec.uses, or name another."),
            Self::ClaimNotFound => {
                Some("Create the PersistentVolumeClaim in the same namespace, or correct the reference.")
            }
            Self::Incomplete => Some("Read the message; `kubectl logs` of the Job kb-NAME-ingest has more."),
            Self::IngestionFailed => Some("Read the message; `kubectl logs` of the Job kb-NAME-ingest has more."),
            Self::WaitingForCapacity => Some("Wait, or raise `ingestion.maxConcurrent` in the chart's values."),
            Self::Suspended => Some("Set spec.sync.suspend to false."),
            Self::SpecDiffers => {
                Some("Set the annotation groundwork.dev/rebuild-requested-at to the present time, or set spec.rebuild.")
            }
            Self::WaitingForReferences => Some("See the condition ResolvedRefs for what is missing."),
        }
    }
}
