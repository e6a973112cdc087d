use groundwork_crds::{AgentPipeline, ToolPolicy};

use super::numbers::{decimal, whole, whole_or};
use super::{Error, Objects, Place, name, namespace};
use crate::{Endpoint, Limits, Policy};

/// Places of a cost: it is kept in millionths.
const COST_PLACES: usize = 6;
const DEFAULT_WALL_CLOCK_SECONDS: u64 = 180;

/// A policy by itself, for those who do not run it.
///
/// # Errors
/// A value that the schema or a rule would have refused.
pub fn compile_policy(manifest: &ToolPolicy) -> Result<Policy, Error> {
    let spec = manifest.spec.limits.clone().unwrap_or_default();
    let at = |field: &str| place(manifest, field);
    let seconds = whole_or(at("wallClockSeconds"), spec.wall_clock_seconds, DEFAULT_WALL_CLOCK_SECONDS)?;
    let requests = spec.requests_per_minute.map(|value| whole(at("requestsPerMinute"), value));
    Ok(Policy {
        name: Some(name(&manifest.metadata).to_owned()),
        limits: Limits {
            wall_clock_ms: seconds * 1000,
            tokens: spec.tokens.map(|value| whole(at("tokens"), value)).transpose()?,
            cost_micros: spec.cost.as_deref().map(|text| decimal(at("cost"), text, COST_PLACES)).transpose()?,
            requests_per_minute: requests.transpose()?,
            concurrency: spec.concurrency.map(|value| whole(at("concurrency"), value)).transpose()?,
        },
    })
}

/// The policy that a pipeline names, if it does and if it is there.
pub(super) fn named<'a>(objects: &'a Objects, pipeline: &AgentPipeline) -> Result<Option<&'a ToolPolicy>, Error> {
    let Some(reference) = &pipeline.spec.tool_policy_ref else { return Ok(None) };
    let space = namespace(&pipeline.metadata);
    let same = || objects.policies.iter().filter(|one| namespace(&one.metadata) == space);
    let found = same().find(|one| name(&one.metadata) == reference.name);
    found.map(Some).ok_or_else(|| Error::UnknownReference {
        place: Box::new(Place {
            kind: "AgentPipeline",
            namespace: space.to_owned(),
            name: name(&pipeline.metadata).to_owned(),
            field: "spec.toolPolicyRef.name".to_owned(),
        }),
        kind: "ToolPolicy",
        name: reference.name.clone(),
        names: same().map(|one| name(&one.metadata).to_owned()).collect(),
    })
}

/// The policy of a pipeline whose answers are written by `chat`. A bound of cost that nobody could keep is a mistake.
pub(super) fn compile(objects: &Objects, pipeline: &AgentPipeline, chat: Option<&Endpoint>) -> Result<Policy, Error> {
    let Some(manifest) = named(objects, pipeline)? else { return Ok(Policy::default()) };
    let policy = compile_policy(manifest)?;
    if let (Some(_), Some(chat)) = (policy.limits.cost_micros, chat.filter(|chat| chat.prices.is_none())) {
        return Err(Error::PricesMissing { place: place(manifest, "cost"), endpoint: chat.name.clone() });
    }
    Ok(policy)
}

fn place(manifest: &ToolPolicy, field: &str) -> Box<Place> {
    Box::new(Place {
        kind: "ToolPolicy",
        namespace: namespace(&manifest.metadata).to_owned(),
        name: name(&manifest.metadata).to_owned(),
        field: format!("spec.limits.{field}"),
    })
}
