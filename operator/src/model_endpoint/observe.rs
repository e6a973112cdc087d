//! Everything that is read for an endpoint.

use groundwork_crds::{ModelEndpoint, UserRef};
use kube_client::ResourceExt;

use crate::cli::Settings;
use crate::context::Context;
use crate::controller::{Again, Error};
use crate::secrets::{KeyLookup, NamedKey, jittered};
use crate::users::{endpoints_of_base, endpoints_of_pipeline, naming};

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Observed {
    pub(super) api_key: Option<NamedKey>,
    /// By kind and name.
    pub(super) users: Vec<UserRef>,
}

impl Observed {
    /// When to look again: a Secret is neither listed nor watched.
    pub(super) fn again(&self, settings: &Settings) -> Again {
        let found = self.api_key.as_ref()?.lookup == KeyLookup::Found;
        Some(jittered(settings.secret_interval(found)))
    }
}

pub(super) async fn observe(endpoint: &ModelEndpoint, context: &Context) -> Result<Observed, Error> {
    let namespace = endpoint.namespace().unwrap_or_default();
    let api_key = match &endpoint.spec.api_key {
        Some(key) => {
            Some(NamedKey::look_up("spec.apiKey.secretKeyRef", &key.secret_key_ref, &namespace, context).await?)
        }
        None => None,
    };
    let name = endpoint.name_any();
    let mut users = naming(&context.stores.pipelines, (&namespace, &name), endpoints_of_pipeline);
    users.extend(naming(&context.stores.knowledge_bases, (&namespace, &name), endpoints_of_base));
    Ok(Observed { api_key, users })
}
