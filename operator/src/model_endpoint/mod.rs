//! ModelEndpoint: says whether it can be used and who uses it. It owns no objects, so nothing is desired or applied: those
//! who name an endpoint read it themselves, and only their pods talk to the model.

mod observe;
mod status;
mod validate;

use groundwork_crds::ModelEndpoint;
use serde_json::Map;
use std::sync::Arc;

use crate::context::Context;
use crate::controller::{Again, Error, Reconciled};
use crate::report::{Findings, report};
use crate::verdict::undecodable;
use crate::watch::Guarded;

impl Reconciled for ModelEndpoint {
    async fn reconcile(object: Arc<Guarded<Self>>, context: Arc<Context>) -> Result<Again, Error> {
        let endpoint = match &object.0 {
            Ok(endpoint) => endpoint,
            Err(invalid) => {
                report(&*object, None, &Findings { facts: undecodable(&invalid.error), fields: Map::new() }, &context)
                    .await?;
                return Ok(None);
            }
        };
        let observed = observe::observe(endpoint, &context).await?;
        let verdict = validate::validate(endpoint, &observed);
        let copy = endpoint.status.as_ref().and_then(|status| serde_json::to_value(status).ok());
        report(&*object, copy.as_ref(), &status::status(&verdict, &observed), &context).await?;
        Ok(observed.again(&context.settings))
    }
}
