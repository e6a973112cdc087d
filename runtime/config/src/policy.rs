use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// What a run may use: plain limits, all defaults filled in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Policy {
    /// Name of the manifest; none where the pipeline names no policy.
    pub name: Option<String>,
    /// Bounds of each question and of each caller.
    pub limits: Limits,
}

impl Policy {
    /// Hex SHA-256 of the limits' canonical JSON (fields in declaration order): equal hashes are equal limits.
    pub fn hash(&self) -> String {
        let json = serde_json::to_vec(&self.limits).expect("limits hold only numbers");
        Sha256::digest(json).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Bounds of each question and of each caller. `None` is unlimited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Limits {
    /// Longest time of a question from its arrival to its answer, in milliseconds.
    pub wall_clock_ms: u64,
    /// Prompt and reply tokens of all model calls of a question.
    pub tokens: Option<u64>,
    /// Cost of all model calls of a question, in millionths of the currency unit.
    pub cost_micros: Option<u64>,
    /// Questions and searches of a caller in a minute.
    pub requests_per_minute: Option<u32>,
    /// Questions and searches of a caller at the same time.
    pub concurrency: Option<u32>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { wall_clock_ms: 180_000, tokens: None, cost_micros: None, requests_per_minute: None, concurrency: None }
    }
}
