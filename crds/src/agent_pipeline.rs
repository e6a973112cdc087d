use kube::core::Rule;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{self, NAME_LENGTH};
use crate::{AgentPipelineStatus, AuthenticationSpec, ExposeSpec, RuntimeSpec};

/// How questions are answered: from which knowledge bases, found how, written by whom.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "groundwork.dev",
    version = "v1alpha1",
    kind = "AgentPipeline",
    plural = "agentpipelines",
    shortname = "ap",
    category = "groundwork",
    namespaced,
    status = "AgentPipelineStatus",
    derive = "PartialEq",
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status",
        description = "Whether questions can be asked."
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason",
        description = "Why."
    ),
    printcolumn(
        name = "Replicas",
        type_ = "integer",
        json_path = ".status.replicas",
        description = "Pods that can be asked."
    ),
    printcolumn(name = "URL", type_ = "string", json_path = ".status.url", description = "Where to ask."),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp",
        description = "Time since it was made."
    ),
    doc = "How questions are answered: from which knowledge bases, found how, written by whom.",
    validation = rules::object_name()
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentPipelineSpec {
    /// The knowledge bases that are searched, 1 to 64, each once.
    #[schemars(length(min = 1, max = 64))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub knowledge_bases: Vec<KnowledgeBaseRef>,
    /// The models that write answers.
    /// Default: none; answers are quotes from the documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub models: Option<ModelsSpec>,
    /// How passages are found and joined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retrieval: Option<RetrievalSpec>,
    /// What a question may use.
    /// Default: none; a question may take 180 seconds, tokens and cost are not bounded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_policy_ref: Option<ToolPolicyRef>,
    /// Who may ask. Must be chosen in a cluster, and is read there only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authentication: Option<AuthenticationSpec>,
    /// The pods that answer. Read in a cluster only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<RuntimeSpec>,
    /// Who may reach the port that answers. Read in a cluster only.
    /// Default: nobody but `kubectl port-forward`, where the cluster's network enforces NetworkPolicies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expose: Option<ExposeSpec>,
}

/// Reference to a tool policy.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolPolicyRef {
    /// Name of a ToolPolicy in the same namespace.
    #[schemars(length(min = 1, max = NAME_LENGTH))]
    #[x_kube(validation = rules::name())]
    pub name: String,
}

/// Reference to a knowledge base.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KnowledgeBaseRef {
    /// Name of a KnowledgeBase in the same namespace.
    #[schemars(length(min = 1, max = NAME_LENGTH))]
    #[x_kube(validation = rules::name())]
    pub name: String,
}

/// The models of a pipeline.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelsSpec {
    /// The chat model that writes answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<ChatModelRef>,
}

/// Reference to a chat model.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChatModelRef {
    /// Name of a ModelEndpoint in the same namespace whose uses contain Chat.
    #[schemars(length(min = 1, max = NAME_LENGTH))]
    #[x_kube(validation = rules::name())]
    pub name: String,
    /// Sampling temperature, a decimal from "0" to "2" with at most three places, in quotes.
    /// Default: "0".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 5))]
    #[x_kube(validation = temperature())]
    pub temperature: Option<String>,
}

/// How passages are found and joined.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[x_kube(validation = top_k_within_candidates())]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RetrievalSpec {
    /// Keyword searches words (BM25), Vector meanings, Hybrid both and joins them. A request may name another.
    /// Default: Hybrid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<RetrievalModeSpec>,
    /// Passages that each arm hands to fusion, 1 to 1000.
    /// Default: 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub candidates: Option<i32>,
    /// Passages given to the answer, 1 to 100.
    /// Default: 8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub top_k: Option<i32>,
    /// Upper size of all passages given to the answer, 100 to 1000000 tokens (cl100k).
    /// Default: 4000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 100, max = 1_000_000))]
    pub token_budget: Option<i32>,
    /// How the arms' lists are joined in mode Hybrid.
    /// Default: type RelativeScore.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fusion: Option<FusionSpec>,
    /// Weight of each arm in mode Hybrid.
    /// Default: what was measured for the embedder (20 for the vectors of the encoder in the binary, the rest for
    /// keywords).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<WeightsSpec>,
}

/// Which arms a search runs.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum RetrievalModeSpec {
    Keyword,
    Vector,
    Hybrid,
}

/// How ranked lists are joined.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[x_kube(validation = rules::needs("Rrf", "rrf"), validation = rules::only_with("rrf", "Rrf"))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FusionSpec {
    /// RelativeScore scales each arm's scores to 0..1 for the question and adds them by weight; Rrf (reciprocal rank
    /// fusion) looks at ranks only.
    pub r#type: FusionType,
    /// Reciprocal rank fusion. Only with type Rrf.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rrf: Option<RrfSpec>,
}

/// The kinds of fusion.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum FusionType {
    RelativeScore,
    Rrf,
}

/// Reciprocal rank fusion: the sum of weight / (k + rank).
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RrfSpec {
    /// The constant k, 1 to 1000; a larger one makes the first ranks count less.
    /// Default: 60.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub k: Option<i32>,
}

/// Weights of the arms.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[x_kube(validation = weight_above_zero())]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WeightsSpec {
    /// Weight of the keyword arm, in percent (0 to 100).
    #[schemars(range(min = 0, max = 100))]
    pub keyword: i32,
    /// Weight of the vector arm, in percent (0 to 100).
    #[schemars(range(min = 0, max = 100))]
    pub vector: i32,
}

fn temperature() -> Rule {
    Rule::new("self.matches('^([01]([.][0-9]{1,3})?|2([.]0{1,3})?)$')")
        .message("must be a decimal from \"0\" to \"2\" with at most three places, in quotes, for example \"0.2\"")
}

fn top_k_within_candidates() -> Rule {
    Rule::new("(has(self.topK) ? self.topK : 8) <= (has(self.candidates) ? self.candidates : 100)")
        .message("topK (8 unless set) must not exceed candidates (100 unless set): lower topK or raise candidates")
}

fn weight_above_zero() -> Rule {
    Rule::new("self.keyword + self.vector > 0")
        .message("both weights are 0, so nothing would be found: raise one, or leave weights out")
}
