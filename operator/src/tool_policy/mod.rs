//! ToolPolicy: says what it was compiled to, who keeps each limit, and who uses it. It owns no objects: pipelines that name a
//! policy render it for their pods.

mod observe;
mod status;
mod validate;

use groundwork_crds::ToolPolicy;
use serde_json::Map;
use std::sync::Arc;

use crate::context::Context;
use crate::controller::{Again, Error, Reconciled};
use crate::report::{Findings, report};
use crate::verdict::undecodable;
use crate::watch::Guarded;

impl Reconciled for ToolPolicy {
    async fn reconcile(object: Arc<Guarded<Self>>, context: Arc<Context>) -> Result<Again, Error> {
        let policy = match &object.0 {
            Ok(policy) => policy,
            Err(invalid) => {
                let findings = Findings { facts: undecodable(&invalid.error), fields: Map::new() };
                report(&*object, None, &findings, &context).await?;
                return Ok(None);
            }
        };
        let users = observe::observe(policy, &context);
        let compiled = validate::validate(policy);
        let copy = policy.status.as_ref().and_then(|status| serde_json::to_value(status).ok());
        report(&*object, copy.as_ref(), &status::status(&compiled, &users), &context).await?;
        Ok(None)
    }
}
