//! Names of what belongs to a pipeline, and places in its pods.

/// Key of the ConfigMap that a pod reads at its start.
pub(super) const SERVING_FILE: &str = "serving.json";
/// Key of the ConfigMap of the policy.
pub(super) const POLICY_FILE: &str = "policy.json";
/// Where the policy is mounted: apart, since it changes.
pub(super) const POLICY_FOLDER: &str = "/etc/groundwork-policy";
/// Where keys of callers are mounted.
pub(super) const KEYS_FOLDER: &str = "/var/run/groundwork/api-keys";

/// Everything that has no name of its own.
pub(super) fn base(pipeline: &str) -> String {
    format!("ap-{pipeline}")
}

/// The configuration.
pub(super) fn config(pipeline: &str, config_hash: &str) -> String {
    format!("ap-{pipeline}-config-{}", config_hash.get(..10).unwrap_or(config_hash))
}

/// The policy.
pub(super) fn policy(pipeline: &str) -> String {
    format!("ap-{pipeline}-policy")
}
