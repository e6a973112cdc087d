//! What all pods of ours have in common: the restricted profile, where things are mounted, whose they are. Pure.

use groundwork_crds::{PullSecretSpec, QuantitiesSpec, ResourcesSpec};
use k8s_openapi::api::core::v1::{
    Capabilities, ConfigMapVolumeSource, EmptyDirVolumeSource, LocalObjectReference, PersistentVolumeClaimVolumeSource,
    PodSecurityContext, ResourceRequirements, SeccompProfile, SecretVolumeSource, SecurityContext, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube_client::{Resource, ResourceExt};
use std::collections::{BTreeMap, BTreeSet};

use crate::names::{MANAGED_BY, MANAGER};

/// Where a pod finds its configuration.
pub(crate) const CONFIG_FOLDER: &str = "/etc/groundwork";
/// Where Secrets are mounted: a key is the file `NAME/KEY` in it.
pub(crate) const SECRETS_FOLDER: &str = "/var/run/groundwork/secrets";
/// Where the volumes of sources are mounted, each under the source's name.
pub(crate) const SOURCES_FOLDER: &str = "/var/run/groundwork/sources";
/// Any user but root; volumes are given to its group.
const USER: i64 = 65_532;
/// Readable by the user and its group only.
const SECRET_MODE: i32 = 0o440;

/// A volume with where it is mounted.
pub(crate) type Mounted = (Volume, VolumeMount);

/// The restricted profile's part of a pod.
pub(crate) fn pod_security() -> PodSecurityContext {
    PodSecurityContext {
        run_as_non_root: Some(true),
        run_as_user: Some(USER),
        run_as_group: Some(USER),
        fs_group: Some(USER),
        fs_group_change_policy: Some("OnRootMismatch".to_owned()),
        seccomp_profile: Some(SeccompProfile { type_: "RuntimeDefault".to_owned(), localhost_profile: None }),
        ..PodSecurityContext::default()
    }
}

/// The restricted profile's part of a container.
pub(crate) fn container_security() -> SecurityContext {
    SecurityContext {
        allow_privilege_escalation: Some(false),
        read_only_root_filesystem: Some(true),
        capabilities: Some(Capabilities { drop: Some(vec!["ALL".to_owned()]), add: None }),
        ..SecurityContext::default()
    }
}

/// What a container asks for and may use.
pub(crate) fn resources(spec: Option<&ResourcesSpec>) -> ResourceRequirements {
    let spec = spec.cloned().unwrap_or_else(|| ResourcesSpec {
        requests: Some(QuantitiesSpec {
            cpu: Some("100m".to_owned()),
            memory: Some("256Mi".to_owned()),
            ephemeral_storage: None,
        }),
        limits: Some(QuantitiesSpec { memory: Some("2Gi".to_owned()), ..QuantitiesSpec::default() }),
    });
    let quantities = |list: Option<QuantitiesSpec>| {
        let list = list?;
        let named = [("cpu", list.cpu), ("memory", list.memory), ("ephemeral-storage", list.ephemeral_storage)];
        Some(named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), Quantity(value?)))).collect())
    };
    ResourceRequirements { requests: quantities(spec.requests), limits: quantities(spec.limits), claims: None }
}

/// Secrets with which an image is pulled.
pub(crate) fn pull_secrets(spec: &[PullSecretSpec]) -> Option<Vec<LocalObjectReference>> {
    let named: Vec<_> = spec.iter().map(|secret| LocalObjectReference { name: secret.name.clone() }).collect();
    (!named.is_empty()).then_some(named)
}

/// A ConfigMap.
pub(crate) fn config_map(volume: &str, name: String, path: &str) -> Mounted {
    let source = ConfigMapVolumeSource { name, ..ConfigMapVolumeSource::default() };
    mounted(Volume { config_map: Some(source), ..named(volume) }, path.to_owned(), true)
}

/// A claim.
pub(crate) fn claim(volume: &str, name: &str, path: String, read_only: bool) -> Mounted {
    let source =
        PersistentVolumeClaimVolumeSource { claim_name: name.to_owned(), read_only: read_only.then_some(true) };
    mounted(Volume { persistent_volume_claim: Some(source), ..named(volume) }, path, read_only)
}

/// A Secret.
pub(crate) fn secret(volume: &str, name: &str, path: String) -> Mounted {
    let source = SecretVolumeSource {
        secret_name: Some(name.to_owned()),
        default_mode: Some(SECRET_MODE),
        ..SecretVolumeSource::default()
    };
    mounted(Volume { secret: Some(source), ..named(volume) }, path, true)
}

/// Secrets under [`SECRETS_FOLDER`].
pub(crate) fn secrets(names: BTreeSet<&str>) -> impl Iterator<Item = Mounted> {
    names
        .into_iter()
        .enumerate()
        .map(|(index, name)| secret(&format!("secret-{index}"), name, format!("{SECRETS_FOLDER}/{name}")))
}

/// The one folder that can be written without a volume.
pub(crate) fn scratch(size: &str) -> Mounted {
    let source = EmptyDirVolumeSource { size_limit: Some(Quantity(size.to_owned())), medium: None };
    mounted(Volume { empty_dir: Some(source), ..named("tmp") }, "/tmp".to_owned(), false)
}

fn named(name: &str) -> Volume {
    Volume { name: name.to_owned(), ..Volume::default() }
}

fn mounted(volume: Volume, path: String, read_only: bool) -> Mounted {
    let mount = VolumeMount {
        name: volume.name.clone(),
        mount_path: path,
        read_only: read_only.then_some(true),
        ..VolumeMount::default()
    };
    (volume, mount)
}

/// Labels of what belongs to an object of ours: `label` says of which kind it is.
pub(crate) fn labels(component: &str, label: &str, owner: &str) -> BTreeMap<String, String> {
    [
        ("app.kubernetes.io/name", "groundwork"),
        ("app.kubernetes.io/component", component),
        (MANAGED_BY, MANAGER),
        (label, owner),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into()
}

/// Metadata of an object that goes with its owner.
pub(crate) fn metadata<K: Resource<DynamicType = ()>>(
    owner: &K,
    name: String,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
) -> ObjectMeta {
    ObjectMeta {
        name: Some(name),
        namespace: owner.namespace(),
        labels: Some(labels),
        annotations: (!annotations.is_empty()).then_some(annotations),
        owner_references: owner.controller_owner_ref(&()).map(|owner| vec![plain(owner)]),
        ..ObjectMeta::default()
    }
}

/// Without blocking the owner's deletion, which would need one more right.
fn plain(owner: OwnerReference) -> OwnerReference {
    OwnerReference { block_owner_deletion: None, ..owner }
}
