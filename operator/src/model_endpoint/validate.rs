//! The mistakes of people. Pure.

use groundwork_config::compile::check_endpoint;
use groundwork_crds::ModelEndpoint;
use groundwork_crds::condition::Reason;

use super::observe::Observed;
use crate::verdict::{Problem, Verdict};

pub(super) fn validate(endpoint: &ModelEndpoint, observed: &Observed) -> Verdict {
    let spec = check_endpoint(endpoint);
    let spec = spec.map_err(|error| Problem::new(Reason::Invalid, error.to_string()));
    let namespace = endpoint.metadata.namespace.as_deref().unwrap_or_default();
    Verdict { spec, references: observed.api_key.as_ref().map_or(Ok(()), |key| key.check(namespace)) }
}
