//! The mistakes of people. Pure.

use groundwork_config::compile::check_endpoint;
use groundwork_crds::ModelEndpoint;
use groundwork_crds::condition::Reason;

use super::observe::{KeyLookup, Observed};
use crate::verdict::{Problem, Verdict};

pub(super) fn validate(endpoint: &ModelEndpoint, observed: &Observed) -> Verdict {
    let spec = check_endpoint(endpoint);
    let spec = spec.map_err(|error| Problem::new(Reason::Invalid, error.to_string()));
    Verdict { spec, references: references(endpoint, observed) }
}

fn references(endpoint: &ModelEndpoint, observed: &Observed) -> Result<(), Problem> {
    let (Some(key), Some(lookup)) = (&endpoint.spec.api_key, observed.api_key) else { return Ok(()) };
    let namespace = endpoint.metadata.namespace.as_deref().unwrap_or_default();
    let (name, key) = (&key.secret_key_ref.name, &key.secret_key_ref.key);
    let at = "spec.apiKey.secretKeyRef";
    let problem = |reason, message: String| Err(Problem::new(reason, message));
    match lookup {
        KeyLookup::Found => Ok(()),
        KeyLookup::NoSecret => problem(
            Reason::SecretNotFound,
            format!("{at}.name is {name:?}: namespace {namespace} has no such Secret; create it or correct the name"),
        ),
        KeyLookup::NoKey => problem(
            Reason::SecretKeyNotFound,
            format!("{at}.key is {key:?}: the Secret {name} has no such key; add it or correct the key"),
        ),
        KeyLookup::Empty => problem(
            Reason::SecretKeyEmpty,
            format!("{at}.key is {key:?}: this key of the Secret {name} is empty; put the model's key into it"),
        ),
        KeyLookup::NotPermitted => problem(
            Reason::NotPermitted,
            format!(
                "{at} names the Secret {name}, which the operator may not read in namespace {namespace}; apply the \
                 operator's Role of the chart there"
            ),
        ),
    }
}
