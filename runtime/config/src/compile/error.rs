use std::fmt;

/// Where in the manifests a mistake stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Kind of the object.
    pub kind: &'static str,
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// Path of the field (`spec.knowledgeBases[0].name`).
    pub field: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.kind, self.name, self.field)
    }
}

/// Why manifests cannot be compiled. Every message names the fix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is nothing to serve.
    #[error("failed to find a KnowledgeBase: add one, or let `groundwork init` write it")]
    NoKnowledgeBase,
    /// The choice between pipelines is open.
    #[error("failed to choose among several AgentPipelines ({}): name one with --pipeline", names.join(", "))]
    SeveralPipelines {
        /// Their names.
        names: Vec<String>,
    },
    /// The pipeline that was asked for does not exist.
    #[error("failed to find the AgentPipeline {name}: {}", known("AgentPipeline", names))]
    UnknownPipeline {
        /// What was asked for.
        name: String,
        /// Those that exist.
        names: Vec<String>,
    },
    /// A reference names nothing.
    #[error("{place} names the {kind} {name}, which does not exist in namespace {}: {}", place.namespace, known(kind, names))]
    UnknownReference {
        /// The reference.
        place: Box<Place>,
        /// Kind of what it names.
        kind: &'static str,
        /// Name of what it names.
        name: String,
        /// Those that exist.
        names: Vec<String>,
    },
    /// An endpoint may not be used for this.
    #[error(
        "{place} names the ModelEndpoint {endpoint}, which is not for {needed}: add {needed} to its spec.uses, or name another"
    )]
    UseNotAllowed {
        /// The reference.
        place: Box<Place>,
        /// Name of the endpoint.
        endpoint: String,
        /// The use that is missing.
        needed: &'static str,
    },
    /// No folder stands for a volume.
    #[error(
        "{place}: no folder stands for the volume of source {source_name}: make a folder {source_name} beside the manifest, or pass --source {source_name}=PATH"
    )]
    VolumeMissing {
        /// The source.
        place: Box<Place>,
        /// Name of the source.
        source_name: String,
    },
    /// A value that the schema or a rule would have refused.
    #[error("{place} is {value:?}: {expected}")]
    Value {
        /// The field.
        place: Box<Place>,
        /// What it holds.
        value: String,
        /// What it must be.
        expected: String,
    },
    /// A bound of cost without prices.
    #[error(
        "{place} bounds the cost, but the ModelEndpoint {endpoint} names no prices: add spec.prices to it, or remove the bound"
    )]
    PricesMissing {
        /// The bound.
        place: Box<Place>,
        /// Name of the endpoint.
        endpoint: String,
    },
    /// A union whose struct is missing.
    #[error("{place} is missing: add it, or choose another type")]
    Missing {
        /// The field.
        place: Box<Place>,
    },
}

impl Error {
    /// Where the mistake stands, if it stands in one object.
    pub fn place(&self) -> Option<&Place> {
        match self {
            Self::NoKnowledgeBase | Self::SeveralPipelines { .. } | Self::UnknownPipeline { .. } => None,
            Self::UnknownReference { place, .. }
            | Self::UseNotAllowed { place, .. }
            | Self::VolumeMissing { place, .. }
            | Self::Value { place, .. }
            | Self::PricesMissing { place, .. }
            | Self::Missing { place } => Some(place),
        }
    }
}

fn known(kind: &str, names: &[String]) -> String {
    if names.is_empty() { format!("add a {kind} of that name") } else { format!("choose one of {}", names.join(", ")) }
}
