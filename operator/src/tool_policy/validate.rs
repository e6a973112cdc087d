//! The mistakes of people. Pure.

use groundwork_config::Policy;
use groundwork_config::compile::compile_policy;
use groundwork_crds::ToolPolicy;
use groundwork_crds::condition::Reason;

use crate::verdict::Problem;

/// The plain limits, or what is wrong.
pub(super) fn validate(policy: &ToolPolicy) -> Result<Policy, Problem> {
    compile_policy(policy).map_err(|error| Problem::new(Reason::Invalid, error.to_string()))
}
