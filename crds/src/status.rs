//! What the operator reports of an object. Written through the status subresource only.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the operator found of a model endpoint.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelEndpointStatus {
    /// The generation of the spec that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Accepted, ResolvedRefs, Ready, Reconciling and Stalled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// How many objects name this endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users: Option<i32>,
    /// The first 16 of them, by kind and name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), extend("x-kubernetes-list-type" = "atomic"))]
    pub used_by: Vec<UserRef>,
}

/// An object that names another.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserRef {
    /// Kind, for example KnowledgeBase.
    pub kind: String,
    /// Name in the same namespace.
    pub name: String,
}
