//! Looking for keys of Secrets, which are neither listed nor watched. No value is kept.

use groundwork_crds::SecretKeyRef;
use groundwork_crds::condition::Reason;
use k8s_openapi::api::core::v1::Secret;
use kube_client::Api;
use std::time::Duration;

use crate::context::Context;
use crate::controller::Error;
use crate::verdict::Problem;

/// What was found of a key of a Secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyLookup {
    Found,
    Empty,
    NoKey,
    NoSecret,
    NotPermitted,
}

/// A key that a spec names, and what was found of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NamedKey {
    /// Path of the reference, for example `spec.apiKey.secretKeyRef`.
    pub(crate) field: String,
    pub(crate) wanted: SecretKeyRef,
    pub(crate) lookup: KeyLookup,
}

impl NamedKey {
    /// Looks for the key that `field` names.
    pub(crate) async fn look_up(
        field: impl Into<String>,
        wanted: &SecretKeyRef,
        namespace: &str,
        context: &Context,
    ) -> Result<Self, Error> {
        let lookup = look_up(namespace, wanted, context).await?;
        Ok(Self { field: field.into(), wanted: wanted.clone(), lookup })
    }

    /// Why it cannot be used.
    pub(crate) fn check(&self, namespace: &str) -> Result<(), Problem> {
        let Self { field, wanted, lookup } = self;
        let (name, key) = (&wanted.name, &wanted.key);
        let (reason, message) = match lookup {
            KeyLookup::Found => return Ok(()),
            KeyLookup::NoSecret => (
                Reason::SecretNotFound,
                format!(
                    "{field}.name is {name:?}: namespace {namespace} has no such Secret; create it or correct the name"
                ),
            ),
            KeyLookup::NoKey => (
                Reason::SecretKeyNotFound,
                format!("{field}.key is {key:?}: the Secret {name} has no such key; add it or correct the key"),
            ),
            KeyLookup::Empty => (
                Reason::SecretKeyEmpty,
                format!("{field}.key is {key:?}: this key of the Secret {name} is empty; put the value into it"),
            ),
            KeyLookup::NotPermitted => (
                Reason::NotPermitted,
                format!(
                    "{field} names the Secret {name}, which the operator may not read in namespace {namespace}; apply \
                     the operator's Role of the chart there"
                ),
            ),
        };
        Err(Problem::new(reason, message))
    }
}

async fn look_up(namespace: &str, wanted: &SecretKeyRef, context: &Context) -> Result<KeyLookup, Error> {
    let secrets: Api<Secret> = Api::namespaced(context.client.clone(), namespace);
    let secret = match secrets.get_opt(&wanted.name).await {
        Ok(Some(secret)) => secret,
        Ok(None) => return Ok(KeyLookup::NoSecret),
        Err(kube_client::Error::Api(status)) if status.is_forbidden() => return Ok(KeyLookup::NotPermitted),
        Err(error) => return Err(Error::api(format!("read the Secret {namespace}/{}", wanted.name))(error)),
    };
    Ok(match secret.data.unwrap_or_default().get(&wanted.key) {
        None => KeyLookup::NoKey,
        Some(value) if value.0.iter().all(u8::is_ascii_whitespace) => KeyLookup::Empty,
        Some(_) => KeyLookup::Found,
    })
}

/// Up to a tenth longer, so that many objects do not look at the same moment.
pub(crate) fn jittered(interval: Duration) -> Duration {
    lengthened(interval, rand_share())
}

fn lengthened(interval: Duration, share: f64) -> Duration {
    interval.mul_f64(1.0 + share / 10.0)
}

/// From 0 to 1; a hash with a random seed is random enough.
fn rand_share() -> f64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0) as f64 / u64::MAX as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_adds_up_to_a_tenth() {
        assert_eq!(lengthened(Duration::from_secs(30), 0.0), Duration::from_secs(30));
        assert_eq!(lengthened(Duration::from_secs(30), 1.0), Duration::from_secs(33));
        assert!((0.0..=1.0).contains(&rand_share()));
    }
}
