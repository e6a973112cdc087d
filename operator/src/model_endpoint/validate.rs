//! The mistakes of people. Pure.

use groundwork_config::compile::check_endpoint;
use groundwork_crds::ModelEndpoint;
use groundwork_crds::condition::Reason;

use super::observe::{KeyLookup, Observed};

/// A mistake, with a message that names the field and the fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) reason: Reason,
    pub(super) message: String,
}

/// What is right and wrong about an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Validated {
    /// The spec by itself.
    pub(super) spec: Result<(), Problem>,
    /// What it names.
    pub(super) references: Result<(), Problem>,
}

pub(super) fn validate(endpoint: &ModelEndpoint, observed: &Observed) -> Validated {
    let spec = check_endpoint(endpoint);
    let spec = spec.map_err(|error| Problem { reason: Reason::Invalid, message: error.to_string() });
    Validated { spec, references: references(endpoint, observed) }
}

fn references(endpoint: &ModelEndpoint, observed: &Observed) -> Result<(), Problem> {
    let (Some(key), Some(lookup)) = (&endpoint.spec.api_key, observed.api_key) else { return Ok(()) };
    let namespace = endpoint.metadata.namespace.as_deref().unwrap_or_default();
    let (name, key) = (&key.secret_key_ref.name, &key.secret_key_ref.key);
    let at = "spec.apiKey.secretKeyRef";
    let problem = |reason, message| Err(Problem { reason, message });
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
