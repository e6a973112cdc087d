use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
