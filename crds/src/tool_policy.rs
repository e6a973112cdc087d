use kube::core::Rule;
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use crate::{ToolPolicyStatus, rules};

/// What a run may use. Every limit is kept by the runtime, outside of any model.
#[derive(CustomResource, KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "groundwork.dev",
    version = "v1alpha1",
    kind = "ToolPolicy",
    plural = "toolpolicies",
    shortname = "tp",
    category = "groundwork",
    namespaced,
    status = "ToolPolicyStatus",
    derive = "PartialEq",
    printcolumn(
        name = "Accepted",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Accepted\")].status",
        description = "Whether the policy is valid."
    ),
    printcolumn(
        name = "Users",
        type_ = "integer",
        json_path = ".status.users",
        description = "How many pipelines name the policy."
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp",
        description = "Time since it was made."
    ),
    doc = "What a run may use. Every limit is kept by the runtime, outside of any model.",
    validation = rules::object_name()
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolPolicySpec {
    /// Bounds of each question and of each caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<PolicyLimitsSpec>,
}

/// Bounds of each question and of each caller.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PolicyLimitsSpec {
    /// Longest time of a question from its arrival to its answer, 1 to 3600 seconds. What is found until then is shown.
    /// Default: 180.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 3600))]
    pub wall_clock_seconds: Option<i32>,
    /// Prompt and reply tokens of all model calls of a question together, 1 to 100000000. A call that would pass it is not
    /// made; replies are kept short enough.
    /// Default: unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000_000))]
    pub tokens: Option<i32>,
    /// Cost of all model calls of a question together, a decimal with at most six places, in quotes ("0.05"), in the
    /// currency of the endpoints' prices. Every chat endpoint that is used must name its prices.
    /// Default: unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 13))]
    #[x_kube(validation = cost())]
    pub cost: Option<String>,
    /// Questions and searches of a caller in a minute, 1 to 1000000; further ones are answered 429 with the time to wait.
    /// Default: unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub requests_per_minute: Option<i32>,
    /// Questions and searches of a caller at the same time, 1 to 1024; further ones are answered 429.
    /// Default: unlimited; what all callers together may do is bounded by the process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1024))]
    pub concurrency: Option<i32>,
}

fn cost() -> Rule {
    Rule::new("self.matches('^[0-9]{1,6}([.][0-9]{1,6})?$')")
        .message("must be a decimal below one million with at most six places, in quotes, for example \"0.05\"")
}
