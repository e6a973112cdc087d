use kube::core::Rule;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ModelEndpointStatus, rules};

/// A model behind an OpenAI-compatible address.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "groundwork.dev",
    version = "v1alpha1",
    kind = "ModelEndpoint",
    plural = "modelendpoints",
    shortname = "me",
    category = "groundwork",
    namespaced,
    status = "ModelEndpointStatus",
    derive = "PartialEq",
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status",
        description = "Whether the endpoint can be used."
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason",
        description = "Why."
    ),
    printcolumn(
        name = "Model",
        type_ = "string",
        json_path = ".spec.model",
        description = "Name of the model as the server knows it."
    ),
    printcolumn(
        name = "Users",
        type_ = "integer",
        json_path = ".status.users",
        description = "How many objects name the endpoint."
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp",
        description = "Time since it was made."
    ),
    doc = "A model behind an OpenAI-compatible address.",
    validation = rules::object_name()
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelEndpointSpec {
    /// Base address up to and including /v1, at most 512 characters; /chat/completions and /embeddings are added to it.
    #[serde(rename = "baseURL")]
    #[schemars(length(min = 1, max = 512))]
    #[x_kube(validation = base_url())]
    pub base_url: String,
    /// Name of the model as the server knows it, at most 253 characters.
    #[schemars(length(min = 1, max = 253))]
    pub model: String,
    /// The key sent as bearer token.
    /// Default: none is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key: Option<ApiKeySpec>,
    /// What the model may be used for.
    #[schemars(length(min = 1, max = 2))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub uses: Vec<ModelUse>,
    /// Longest prompt and answer together that the model takes, 256 to 10000000 tokens.
    /// Default: unknown; nothing is cut for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 256, max = 10_000_000))]
    pub context_window: Option<i32>,
    /// What tokens cost; usage reports then name the cost.
    /// Default: unknown; reports name tokens only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<PricesSpec>,
    /// Limits that each process keeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<LimitsSpec>,
    /// Longest time of one request, 1 to 3600 seconds.
    /// Default: 60.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 3600))]
    pub timeout_seconds: Option<i32>,
    /// Further tries after a failure that may pass (status 429 or 5xx, lost connection), 0 to 10.
    /// Default: 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 10))]
    pub retries: Option<i32>,
}

/// Where the key is.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApiKeySpec {
    /// Key of a Secret in the same namespace. In one process it is the file NAME/KEY in the folder of secrets.
    pub secret_key_ref: SecretKeyRef,
}

/// Key of a Secret.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SecretKeyRef {
    /// Name of the Secret, at most 253 characters.
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(validation = secret_name())]
    pub name: String,
    /// Key in the Secret, at most 253 characters.
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(validation = secret_key())]
    pub key: String,
}

/// What a model may be used for.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum ModelUse {
    Chat,
    Embeddings,
}

/// Prices per million tokens.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PricesSpec {
    /// Price of a million prompt tokens, a decimal with at most six places, in quotes ("0.15"), in any currency.
    #[schemars(length(min = 1, max = 13))]
    #[x_kube(validation = price())]
    pub input: String,
    /// Price of a million completion tokens, a decimal with at most six places, in quotes, in the same currency.
    #[schemars(length(min = 1, max = 13))]
    #[x_kube(validation = price())]
    pub output: String,
}

/// Limits that each process keeps.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LimitsSpec {
    /// Requests a minute, 1 to 1000000; further ones wait.
    /// Default: unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub requests_per_minute: Option<i32>,
    /// Requests in flight, 1 to 1024; further ones wait.
    /// Default: 4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1024))]
    pub concurrency: Option<i32>,
}

fn base_url() -> Rule {
    Rule::new("self.matches('^https?://[^/?#@ ]+(/[^?# ]*)?$')").message(
        "must begin with http:// or https:// and have no user, query or fragment, for example http://localhost:11434/v1",
    )
}

fn secret_name() -> Rule {
    Rule::new("self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')").message(
        "must be the name of a Secret: lower-case letters, digits, hyphens and dots, for example model-credentials",
    )
}

fn secret_key() -> Rule {
    Rule::new("self.matches('^[-._a-zA-Z0-9]+$') && self != '.' && !self.startsWith('..')")
        .message("must be a key of a Secret: letters, digits, hyphens, dots and underscores, for example api-key")
}

fn price() -> Rule {
    Rule::new("self.matches('^[0-9]{1,6}([.][0-9]{1,6})?$')")
        .message("must be a decimal below one million with at most six places, in quotes, for example \"0.15\"")
}
