//! AgentPipeline: rolls out the pods that answer, with the revisions, limits and keys that its manifests name.
//!
//! What a pod reads at its start is one immutable ConfigMap named after what it holds, so that a change is a rollout and a
//! failed one keeps the pods before. The policy is a ConfigMap of its own that pods read again.

mod desired;
mod names;
mod observe;
mod status;
mod validate;

use groundwork_crds::AgentPipeline;
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::ResourceExt;
use kube_client::api::{DeleteParams, ListParams};
use kube_client::core::DeserializeGuard;
use kube_client::{Api, Client};
use serde_json::Map;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::context::Context;
use crate::controller::{Again, Error, Reconciled};
use crate::ensure::ensure;
use crate::report::{Findings, report};
use crate::verdict::undecodable;
use crate::watch::Guarded;
use observe::Observed;
use validate::Asked;

impl Reconciled for AgentPipeline {
    async fn reconcile(object: Arc<Guarded<Self>>, context: Arc<Context>) -> Result<Again, Error> {
        if let Err(invalid) = &object.0 {
            let findings = Findings { facts: undecodable(&invalid.error), fields: Map::new() };
            report(&*object, None, &findings, &context).await?;
            return Ok(None);
        }
        let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
        let live = observe::live::<Self>(&name, &namespace, &context).await?;
        let Some(pipeline) = live.filter(|live| live.metadata.deletion_timestamp.is_none()) else { return Ok(None) };
        let mut observed = observe::observe(&pipeline, &context).await?;
        let (asked, verdict) = validate::validate(&pipeline, &observed);
        match &asked {
            Some(asked) => apply(&pipeline, asked, &mut observed, &context).await?,
            // A policy that is gone or wrong is delivered like any other: whoever runs denies.
            None if observed.deployment.is_some() => deny(&pipeline, &observed, &context).await?,
            None => {}
        }
        let findings = status::status(&pipeline, &verdict, asked.as_ref(), &observed);
        let copy = pipeline.status.as_ref().and_then(|status| serde_json::to_value(status).ok());
        report(&DeserializeGuard(Ok(pipeline)), copy.as_ref(), &findings, &context).await?;
        Ok(observed.again(&context.settings))
    }
}

async fn apply(
    pipeline: &AgentPipeline,
    asked: &Asked,
    observed: &mut Observed,
    context: &Context,
) -> Result<(), Error> {
    let client = &context.client;
    // Configuration first: a pod must find what it mounts.
    ensure(client, &desired::config(pipeline, asked)).await?;
    ensure(client, &desired::policy(pipeline, &desired::policy_text(asked))).await?;
    // Closed before there is anybody to reach.
    ensure(client, &desired::network_policy(pipeline, asked, &context.network)).await?;
    ensure(client, &desired::account(pipeline)).await?;
    ensure(client, &desired::service(pipeline)).await?;
    ensure(client, &desired::disruption_budget(pipeline)).await?;
    let image = &context.settings.runtime_image;
    observed.deployment = Some(ensure(client, &desired::deployment(pipeline, asked, observed, image)).await?);
    if status::is_rolled_out(observed.deployment.as_ref()) {
        forget_old_configurations(pipeline, asked, client).await?;
    }
    Ok(())
}

/// Where only the policy is wrong, pods that run are told to deny; everything else stays as it is.
async fn deny(pipeline: &AgentPipeline, observed: &Observed, context: &Context) -> Result<(), Error> {
    if let Some(why) = validate::denial(pipeline, observed) {
        ensure(&context.client, &desired::policy(pipeline, &desired::denial_text(&why))).await?;
    }
    Ok(())
}

/// Removes configurations that no ReplicaSet has any more: a rollout can be undone to those that are left.
async fn forget_old_configurations(pipeline: &AgentPipeline, asked: &Asked, client: &Client) -> Result<(), Error> {
    let (name, namespace) = (pipeline.name_any(), pipeline.namespace().unwrap_or_default());
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), &namespace);
    let own = ListParams::default().labels(&format!("{}={name}", crate::names::PIPELINE));
    let listed = maps.list_metadata(&own).await.map_err(Error::api("list the ConfigMaps of a pipeline"))?;
    let prefix = names::config(&name, "");
    let current = names::config(&name, &asked.config_hash);
    let mut old: BTreeSet<String> = listed.items.iter().map(ResourceExt::name_any).collect();
    old.retain(|map| map.starts_with(&prefix) && *map != current);
    if old.is_empty() {
        return Ok(());
    }
    let sets: Api<ReplicaSet> = Api::namespaced(client.clone(), &namespace);
    let sets = sets.list(&own).await.map_err(Error::api("list the ReplicaSets of a pipeline"))?;
    let kept: BTreeSet<&str> = sets.items.iter().flat_map(configurations).collect();
    old.retain(|map| !kept.contains(map.as_str()));
    for map in old {
        match maps.delete(&map, &DeleteParams::default()).await {
            Err(kube_client::Error::Api(status)) if status.is_not_found() => {}
            other => drop(other.map_err(Error::api(format!("delete the ConfigMap {map}")))?),
        }
    }
    Ok(())
}

/// The ConfigMaps that the pods of a ReplicaSet mount.
fn configurations(set: &ReplicaSet) -> impl Iterator<Item = &str> {
    let pod = set.spec.as_ref().and_then(|spec| spec.template.as_ref()?.spec.as_ref());
    let volumes = pod.and_then(|pod| pod.volumes.as_ref()).into_iter().flatten();
    volumes.filter_map(|volume| Some(volume.config_map.as_ref()?.name.as_str()))
}

#[cfg(test)]
mod tests;
