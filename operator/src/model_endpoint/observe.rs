//! Everything that is read for an endpoint.

use groundwork_crds::{ModelEndpoint, SecretKeyRef, UserRef};
use k8s_openapi::api::core::v1::Secret;
use kube_client::{Api, ResourceExt};
use std::time::Duration;

use crate::cli::Settings;
use crate::context::Context;
use crate::controller::{Again, Error};
use crate::users::{endpoints_of_base, endpoints_of_pipeline, naming};

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Observed {
    pub(super) api_key: Option<KeyLookup>,
    /// By kind and name.
    pub(super) users: Vec<UserRef>,
}

/// What was found of a key of a Secret. The value itself is never kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyLookup {
    Found,
    Empty,
    NoKey,
    NoSecret,
    NotPermitted,
}

impl Observed {
    /// When to look again: a Secret is neither listed nor watched.
    pub(super) fn again(&self, settings: &Settings) -> Again {
        let found = self.api_key? == KeyLookup::Found;
        Some(jittered(settings.secret_interval(found), rand_share()))
    }
}

/// Up to a tenth longer, so that many endpoints do not look at the same moment.
fn jittered(interval: Duration, share: f64) -> Duration {
    interval.mul_f64(1.0 + share / 10.0)
}

/// From 0 to 1; a hash with a random seed is random enough.
fn rand_share() -> f64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0) as f64 / u64::MAX as f64
}

pub(super) async fn observe(endpoint: &ModelEndpoint, context: &Context) -> Result<Observed, Error> {
    let namespace = endpoint.namespace().unwrap_or_default();
    let api_key = match &endpoint.spec.api_key {
        Some(key) => Some(look_up(&namespace, &key.secret_key_ref, context).await?),
        None => None,
    };
    let name = endpoint.name_any();
    let mut users = naming(&context.stores.pipelines, (&namespace, &name), endpoints_of_pipeline);
    users.extend(naming(&context.stores.knowledge_bases, (&namespace, &name), endpoints_of_base));
    Ok(Observed { api_key, users })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_adds_up_to_a_tenth() {
        assert_eq!(jittered(Duration::from_secs(30), 0.0), Duration::from_secs(30));
        assert_eq!(jittered(Duration::from_secs(30), 1.0), Duration::from_secs(33));
        assert!((0.0..=1.0).contains(&rand_share()));
    }
}
