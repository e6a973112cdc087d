use kube::KubeSchema;
use kube::core::Rule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules;

/// When a changed definition of what an index contains is built.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum RebuildSpec {
    OnSpecChange,
    Always,
    Manual,
}

/// Where syncs keep what they have to know of each other. Read in a cluster only; `groundwork up` keeps it in its data folder.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[x_kube(validation = rules::needs("PersistentVolumeClaim", "persistentVolumeClaim"))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StateSpec {
    /// What kind of place it is.
    pub r#type: StateType,
    /// Only with type PersistentVolumeClaim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persistent_volume_claim: Option<StateClaimSpec>,
}

/// Kinds of places for state.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum StateType {
    PersistentVolumeClaim,
}

/// A volume for state. If it is lost, the next sync reads the store back and embeds nothing again.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[x_kube(validation = claim_or_template())]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StateClaimSpec {
    /// Name of a PersistentVolumeClaim in the same namespace, at most 253 characters.
    /// Default: kb-NAME-state, which the operator makes and which goes with the knowledge base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(validation = claim_name())]
    pub claim_name: Option<String>,
    /// Size of the claim that the operator makes, in quotes. A later change has no effect.
    /// Default: "1Gi".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 32))]
    #[x_kube(validation = quantity())]
    pub size: Option<String>,
    /// Storage class of the claim that the operator makes. A later change has no effect.
    /// Default: the cluster's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(validation = claim_name())]
    pub storage_class_name: Option<String>,
}

/// The pods that ingest. Read in a cluster only.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IngestionSpec {
    /// Image of the runtime, at most 512 characters.
    /// Default: the image that the operator's chart names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub image: Option<String>,
    /// Secrets with which the image is pulled, at most 8.
    /// Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub image_pull_secrets: Vec<PullSecretSpec>,
    /// What the container may use.
    /// Default: requests 100m and 256Mi, limit 2Gi.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourcesSpec>,
    /// Longest time of one ingestion, 60 to 604800 seconds; it goes on where it was with the next one.
    /// Default: 21600.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 60, max = 604_800))]
    pub deadline_seconds: Option<i32>,
    /// Pods that may fail before an ingestion counts as failed, 0 to 20. It is then tried again, ever more rarely.
    /// Default: 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 20))]
    pub backoff_limit: Option<i32>,
}

/// A Secret of registry credentials.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PullSecretSpec {
    /// Name of the Secret in the same namespace, at most 253 characters.
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(validation = claim_name())]
    pub name: String,
}

/// What a container asks for, and what it may use at most.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResourcesSpec {
    /// What the scheduler reserves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<QuantitiesSpec>,
    /// What it may use at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<QuantitiesSpec>,
}

/// Amounts of a container's resources.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QuantitiesSpec {
    /// Processors, in quotes: "500m" is half a core.
    /// Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 32))]
    #[x_kube(validation = quantity())]
    pub cpu: Option<String>,
    /// Memory, in quotes: "1Gi".
    /// Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 32))]
    #[x_kube(validation = quantity())]
    pub memory: Option<String>,
    /// Disk of the pod itself, in quotes.
    /// Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 32))]
    #[x_kube(validation = quantity())]
    pub ephemeral_storage: Option<String>,
}

fn quantity() -> Rule {
    Rule::new("self.matches('^[0-9]+([.][0-9]+)?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$')")
        .message("must be an amount as Kubernetes writes it, for example \"500m\", \"2\" or \"1Gi\"")
}

pub(crate) fn claim_name() -> Rule {
    Rule::new("self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')")
        .message("must be lower-case letters, digits, hyphens and dots, for example handbook-state")
}

fn claim_or_template() -> Rule {
    Rule::new("!has(self.claimName) || !has(self.size) && !has(self.storageClassName)").message(
        "claimName names a claim that is there, so size and storageClassName have no use: remove them, or remove claimName",
    )
}
