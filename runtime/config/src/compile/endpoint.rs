use groundwork_crds::{ModelEndpoint, ModelUse};
use std::path::Path;

use super::numbers::{decimal, whole, whole_or};
use super::secret::secret_file;
use super::{Error, Objects, Place, name, namespace};
use crate::{Endpoint, EndpointUse, Prices};

const DEFAULT_TIMEOUT_SECONDS: u64 = 60;
const DEFAULT_RETRIES: u32 = 2;
const DEFAULT_CONCURRENCY: u32 = 4;
/// Places of a price: it is kept in millionths.
const PRICE_PLACES: usize = 6;

/// The endpoints that have been named so far, each compiled once.
pub(super) struct Collected<'a> {
    objects: &'a Objects,
    secrets_dir: &'a Path,
    endpoints: Vec<Endpoint>,
}

impl<'a> Collected<'a> {
    pub(super) fn new(objects: &'a Objects, secrets_dir: &'a Path) -> Self {
        Self { objects, secrets_dir, endpoints: Vec::new() }
    }

    /// The endpoint that `place` names, for this use.
    pub(super) fn named(&mut self, place: Box<Place>, wanted: &str, needed: ModelUse) -> Result<&Endpoint, Error> {
        let endpoint = resolve(self.objects, place, wanted, needed)?;
        let known = self.endpoints.iter().position(|one| one.name == wanted);
        let index = match known {
            Some(index) => index,
            None => {
                self.endpoints.push(compile(endpoint, self.secrets_dir)?);
                self.endpoints.len() - 1
            }
        };
        Ok(&self.endpoints[index])
    }

    pub(super) fn into_endpoints(self) -> Vec<Endpoint> {
        self.endpoints
    }
}

/// Finds the endpoint that `place` names and checks that it may be used so.
pub(super) fn resolve<'a>(
    objects: &'a Objects,
    place: Box<Place>,
    wanted: &str,
    needed: ModelUse,
) -> Result<&'a ModelEndpoint, Error> {
    let same_namespace = || objects.endpoints.iter().filter(|one| namespace(&one.metadata) == place.namespace);
    let Some(endpoint) = same_namespace().find(|one| name(&one.metadata) == wanted) else {
        let names = same_namespace().map(|one| name(&one.metadata).to_owned()).collect();
        return Err(Error::UnknownReference { place, kind: "ModelEndpoint", name: wanted.to_owned(), names });
    };
    if endpoint.spec.uses.contains(&needed) {
        return Ok(endpoint);
    }
    let needed = match needed {
        ModelUse::Chat => "Chat",
        ModelUse::Embeddings => "Embeddings",
    };
    Err(Error::UseNotAllowed { place, endpoint: wanted.to_owned(), needed })
}

/// Whether an endpoint could be compiled, for those who do not use it: nothing that it names is looked at.
///
/// # Errors
/// A value that the schema or a rule would have refused.
pub fn check_endpoint(endpoint: &ModelEndpoint) -> Result<(), Error> {
    compile(endpoint, Path::new("")).map(drop)
}

fn compile(endpoint: &ModelEndpoint, secrets_dir: &Path) -> Result<Endpoint, Error> {
    let spec = &endpoint.spec;
    let at = |field: &str| place(endpoint, field);
    let limits = spec.limits.clone().unwrap_or_default();
    let requests = limits.requests_per_minute.map(|value| whole(at("limits.requestsPerMinute"), value));
    let seconds = whole_or(at("timeoutSeconds"), spec.timeout_seconds, DEFAULT_TIMEOUT_SECONDS)?;
    let api_key = spec.api_key.as_ref().map(|key| &key.secret_key_ref);
    Ok(Endpoint {
        name: name(&endpoint.metadata).to_owned(),
        base_url: spec.base_url.trim_end_matches('/').to_owned(),
        model: spec.model.clone(),
        uses: uses(&spec.uses),
        api_key_file: api_key
            .map(|key| secret_file(|field| at(&format!("apiKey.{field}")), key, secrets_dir))
            .transpose()?,
        api_key_env: None,
        timeout_ms: seconds * 1000,
        retries: whole_or(at("retries"), spec.retries, DEFAULT_RETRIES)?,
        requests_per_minute: requests.transpose()?,
        concurrency: whole_or(at("limits.concurrency"), limits.concurrency, DEFAULT_CONCURRENCY)?,
        context_window: spec.context_window.map(|value| whole(at("contextWindow"), value)).transpose()?,
        prices: prices(endpoint)?,
    })
}

fn uses(uses: &[ModelUse]) -> Vec<EndpointUse> {
    let one = |one: &ModelUse| match one {
        ModelUse::Chat => EndpointUse::Chat,
        ModelUse::Embeddings => EndpointUse::Embeddings,
    };
    uses.iter().map(one).collect()
}

fn prices(endpoint: &ModelEndpoint) -> Result<Option<Prices>, Error> {
    let Some(prices) = &endpoint.spec.prices else { return Ok(None) };
    Ok(Some(Prices {
        input_micros_per_million: decimal(place(endpoint, "prices.input"), &prices.input, PRICE_PLACES)?,
        output_micros_per_million: decimal(place(endpoint, "prices.output"), &prices.output, PRICE_PLACES)?,
    }))
}

fn place(endpoint: &ModelEndpoint, field: &str) -> Box<Place> {
    Box::new(Place {
        kind: "ModelEndpoint",
        namespace: namespace(&endpoint.metadata).to_owned(),
        name: name(&endpoint.metadata).to_owned(),
        field: format!("spec.{field}"),
    })
}
