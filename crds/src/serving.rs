use kube::KubeSchema;
use kube::core::Rule;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::ingestion::claim_name;
use crate::{PullSecretSpec, ResourcesSpec, rules};

/// Who may ask. Must be chosen in a cluster; `groundwork up` answers its own machine only and asks nobody.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[x_kube(validation = rules::needs("ApiKeys", "apiKeys"), validation = rules::only_with("apiKeys", "ApiKeys"))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AuthenticationSpec {
    /// None lets everybody ask who reaches the port; ApiKeys asks for a key.
    pub r#type: AuthenticationType,
    /// Only with type ApiKeys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_keys: Option<ApiKeysSpec>,
}

/// Ways to tell who asks.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum AuthenticationType {
    None,
    ApiKeys,
}

/// Keys of callers.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApiKeysSpec {
    /// The Secret with a key a caller: its name is who calls, its lines are hashes of her keys as `groundwork api-key` prints
    /// them. A change takes effect without a rollout.
    pub secret_ref: SecretRef,
}

/// Reference to a Secret.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SecretRef {
    /// Name of the Secret in the same namespace, at most 253 characters.
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(validation = claim_name())]
    pub name: String,
}

/// The pods that answer. Read in a cluster only.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RuntimeSpec {
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
    /// Pods, 0 to 100.
    /// Default: one at first, then whatever others set (`kubectl scale`, an autoscaler).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub replicas: Option<i32>,
    /// What a container may use.
    /// Default: requests 100m and 256Mi, limit 2Gi.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourcesSpec>,
}

/// Who may reach the port that answers. Read in a cluster only, whose network must enforce NetworkPolicies.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExposeSpec {
    /// Peers that may, at most 64.
    /// Default: nobody.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub from: Vec<PeerSpec>,
}

/// Pods, or addresses outside of the cluster.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[x_kube(validation = peer_is_one())]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PeerSpec {
    /// Namespace of the pods, at most 63 characters.
    /// Default: the pipeline's own, where podLabels is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    #[x_kube(validation = claim_name())]
    pub namespace: Option<String>,
    /// Labels that the pods have, at most 16.
    /// Default: all pods of the namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "labels")]
    pub pod_labels: Option<BTreeMap<String, String>>,
    /// A range of addresses, at most 43 characters, for example 192.0.2.0/24. Not together with the others.
    /// Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 43))]
    #[x_kube(validation = cidr())]
    pub cidr: Option<String>,
}

/// Labels are bounded in number and length.
fn labels(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "maxProperties": 16,
        "additionalProperties": {"type": "string", "maxLength": 63},
    })
}

fn peer_is_one() -> Rule {
    Rule::new("has(self.cidr) != (has(self.namespace) || has(self.podLabels))")
        .message("name either cidr, or namespace and podLabels (one of them or both)")
}

fn cidr() -> Rule {
    Rule::new("self.matches('^[0-9a-fA-F:.]+/[0-9]{1,3}$')")
        .message("must be a range of addresses, for example 192.0.2.0/24")
}
