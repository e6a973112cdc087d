//! The only writer of what a knowledge base owns. Every call may be repeated.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim};
use kube_client::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions, PropagationPolicy};
use kube_client::{Api, Client, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::fmt::Debug;

use crate::controller::Error;
use crate::names::MANAGER;

/// Makes the claim where it is missing; one that is there is never changed.
pub(super) async fn claim(client: &Client, claim: &PersistentVolumeClaim) -> Result<(), Error> {
    let claims = api::<PersistentVolumeClaim>(client, claim.namespace());
    create(&claims, claim, "PersistentVolumeClaim").await.map(drop)
}

/// Makes a ConfigMap, or gives one that is there its annotations. What it holds never changes: it is immutable, and named
/// after what it holds.
pub(super) async fn config_map(client: &Client, map: &ConfigMap) -> Result<(), Error> {
    let (name, maps) = (map.name_any(), api::<ConfigMap>(client, map.namespace()));
    let read = maps.get_metadata_opt(&name).await;
    let Some(there) = read.map_err(Error::api(format!("read the ConfigMap {name}")))? else {
        return create(&maps, map, "ConfigMap").await.map(drop);
    };
    if map.annotations().iter().all(|(name, value)| there.annotations().get(name) == Some(value)) {
        return Ok(());
    }
    let body = json!({"metadata": {"uid": there.uid(), "annotations": map.annotations()}});
    let patched = maps.patch_metadata(&name, &PatchParams::default(), &Patch::Merge(body)).await;
    patched.map_err(Error::api(format!("write the annotations of the ConfigMap {name}"))).map(drop)
}

/// Makes the Job. One that is there already (an answer that was lost) is taken as it is.
pub(super) async fn start(client: &Client, job: &Job) -> Result<Job, Error> {
    create(&api::<Job>(client, job.namespace()), job, "Job").await
}

/// Removes this Job and its pods; a newer one of the same name is left alone.
pub(super) async fn remove(client: &Client, job: &Job) -> Result<(), Error> {
    let name = job.name_any();
    let preconditions = Preconditions { uid: job.uid(), resource_version: None };
    let parameters = DeleteParams {
        // The Job stays until its pods are gone.
        propagation_policy: Some(PropagationPolicy::Foreground),
        preconditions: Some(preconditions),
        ..DeleteParams::default()
    };
    match api::<Job>(client, job.namespace()).delete(&name, &parameters).await {
        Ok(_) => Ok(()),
        // Gone, or another one by now.
        Err(kube_client::Error::Api(status)) if status.is_not_found() || status.is_conflict() => Ok(()),
        Err(error) => Err(Error::api(format!("delete the Job {name}"))(error)),
    }
}

async fn create<K>(api: &Api<K>, object: &K, kind: &str) -> Result<K, Error>
where
    K: Clone + Debug + DeserializeOwned + Serialize + kube_client::Resource,
{
    let name = object.name_any();
    let parameters = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
    match api.create(&parameters, object).await {
        Ok(made) => Ok(made),
        Err(kube_client::Error::Api(status)) if status.is_already_exists() => {
            api.get(&name).await.map_err(Error::api(format!("read the {kind} {name}")))
        }
        Err(error) => Err(Error::api(format!("create the {kind} {name}"))(error)),
    }
}

fn api<K>(client: &Client, namespace: Option<String>) -> Api<K>
where
    K: kube_client::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
{
    Api::namespaced(client.clone(), &namespace.unwrap_or_default())
}
