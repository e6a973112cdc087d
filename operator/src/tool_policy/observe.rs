//! Everything that is read for a policy.

use groundwork_crds::{ToolPolicy, UserRef};
use kube_client::ResourceExt;

use crate::context::Context;
use crate::users::{naming, policies_of_pipeline};

/// The pipelines that name it.
pub(super) fn observe(policy: &ToolPolicy, context: &Context) -> Vec<UserRef> {
    let namespace = policy.namespace().unwrap_or_default();
    naming(&context.stores.pipelines, (&namespace, &policy.name_any()), policies_of_pipeline)
}
