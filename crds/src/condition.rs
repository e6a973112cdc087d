//! The words of conditions: types that every kind has, and the reasons that explain them.

/// Whether the spec is valid by itself.
pub const ACCEPTED: &str = "Accepted";
/// Whether everything that the spec names exists and may be used.
pub const RESOLVED_REFS: &str = "ResolvedRefs";
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
}

impl Reason {
    /// All reasons.
    pub const ALL: [Self; 13] = [
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
            | Self::Pending => None,
            Self::Invalid => Some("Change the field that the message names; `groundwork validate -f` checks offline."),
            Self::Undecodable => Some("Upgrade the operator to the version of the definitions, or remove the field."),
            Self::SecretNotFound => Some("Create the Secret in the same namespace, or correct the reference."),
            Self::SecretKeyNotFound => Some("Add the key to the Secret, or correct the reference."),
            Self::SecretKeyEmpty => Some("Put the value into the Secret's key."),
            Self::NotPermitted => Some("Apply the operator's Role of the chart in this namespace."),
            Self::WaitingForReferences => Some("See the condition ResolvedRefs for what is missing."),
        }
    }
}
