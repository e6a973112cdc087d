//! What must be there for an ingestion. Pure.

use groundwork_config::Contract;
use groundwork_crds::{IngestionSpec, KnowledgeBase, QuantitiesSpec, ResourcesSpec, SourceType};
use k8s_openapi::api::batch::v1::{Job, JobSpec};
use k8s_openapi::api::core::v1::{
    Capabilities, ConfigMap, ConfigMapVolumeSource, Container, EmptyDirVolumeSource, LocalObjectReference,
    PersistentVolumeClaim, PersistentVolumeClaimSpec, PersistentVolumeClaimVolumeSource, PodSecurityContext, PodSpec,
    PodTemplateSpec, ResourceRequirements, SeccompProfile, SecretVolumeSource, SecurityContext, Volume, VolumeMount,
    VolumeResourceRequirements,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube_client::{Resource, ResourceExt};
use std::collections::{BTreeMap, BTreeSet};

use super::names::{self, CONFIG_FOLDER, CONTRACT_FILE, INGESTION_FILE, SECRETS_FOLDER, SOURCES_FOLDER, STATE_FOLDER};
use super::observe::Observed;
use super::validate::Asked;
use crate::names::{
    ACCEPT_DELETES, CONFIG_HASH, KNOWLEDGE_BASE, MANAGED_BY, MANAGER, REBUILD_REQUESTED_AT, REVISION, SPEC_HASH,
    SYNC_REQUESTED_AT,
};

const DEFAULT_STATE_SIZE: &str = "1Gi";
const DEFAULT_DEADLINE_SECONDS: i32 = 21_600;
const DEFAULT_BACKOFF_LIMIT: i32 = 3;
/// Longer than a sync takes to end after SIGTERM.
const GRACE_SECONDS: i64 = 60;
/// Any user but root; volumes are given to its group.
const USER: i64 = 65_532;
/// Readable by the user and its group only.
const SECRET_MODE: i32 = 0o440;
/// Where extraction writes what does not fit into memory.
const SCRATCH_SIZE: &str = "4Gi";

/// The claim for state, where the operator makes one.
pub(super) fn state_claim(base: &KnowledgeBase) -> Option<PersistentVolumeClaim> {
    let name = names::made_state_claim(base)?;
    let spec = base.spec.state.as_ref().and_then(|state| state.persistent_volume_claim.clone()).unwrap_or_default();
    let size = Quantity(spec.size.unwrap_or_else(|| DEFAULT_STATE_SIZE.to_owned()));
    Some(PersistentVolumeClaim {
        metadata: metadata(base, name, BTreeMap::new()),
        spec: Some(PersistentVolumeClaimSpec {
            access_modes: Some(vec!["ReadWriteOnce".to_owned()]),
            resources: Some(VolumeResourceRequirements {
                requests: Some(BTreeMap::from([("storage".to_owned(), size)])),
                limits: None,
            }),
            storage_class_name: spec.storage_class_name,
            ..PersistentVolumeClaimSpec::default()
        }),
        status: None,
    })
}

/// What is remembered of a revision: its full contract, as long as the knowledge base lives.
pub(super) fn revision(base: &KnowledgeBase, asked: &Asked) -> ConfigMap {
    let name = names::revision(&base.name_any(), &asked.wanted.revision);
    let mut annotations = BTreeMap::from([(SPEC_HASH.to_owned(), asked.spec_hash.clone())]);
    if let Some(requested) = &asked.rebuild_requested_at {
        annotations.insert(REBUILD_REQUESTED_AT.to_owned(), requested.clone());
    }
    ConfigMap {
        metadata: metadata(base, name, annotations),
        immutable: Some(true),
        data: Some(BTreeMap::from([(
            CONTRACT_FILE.to_owned(),
            contract_text(&asked.ingestion.knowledge_base.contract),
        )])),
        ..ConfigMap::default()
    }
}

fn contract_text(contract: &Contract) -> String {
    serde_json::to_string_pretty(contract).expect("a contract holds only strings and numbers")
}

/// What the pod reads. It goes with its Job.
pub(super) fn config(base: &KnowledgeBase, asked: &Asked, job: &Job) -> ConfigMap {
    let mut metadata = metadata(base, names::config(&base.name_any(), &asked.wanted.config_hash), BTreeMap::new());
    metadata.owner_references = job.controller_owner_ref(&()).map(|owner| vec![plain(owner)]);
    let text = serde_json::to_string_pretty(&asked.ingestion).expect("a configuration holds only JSON types");
    ConfigMap {
        metadata,
        immutable: Some(true),
        data: Some(BTreeMap::from([(INGESTION_FILE.to_owned(), text)])),
        ..ConfigMap::default()
    }
}

/// The Job that ingests.
pub(super) fn job(base: &KnowledgeBase, asked: &Asked, observed: &Observed, default_image: &str) -> Job {
    let wanted = &asked.wanted;
    let mut annotations = BTreeMap::from([
        (CONFIG_HASH.to_owned(), wanted.config_hash.clone()),
        (REVISION.to_owned(), wanted.revision.clone()),
    ]);
    for (name, value) in [(SYNC_REQUESTED_AT, &wanted.sync_requested_at), (ACCEPT_DELETES, &wanted.accept_deletes)] {
        annotations.extend(value.clone().map(|value| (name.to_owned(), value)));
    }
    let spec = base.spec.ingestion.clone().unwrap_or_default();
    Job {
        metadata: metadata(base, names::job(&base.name_any()), annotations),
        spec: Some(JobSpec {
            parallelism: Some(1),
            completions: Some(1),
            // The next pod only when the one before is gone for good: one writer.
            pod_replacement_policy: Some("Failed".to_owned()),
            backoff_limit: Some(spec.backoff_limit.unwrap_or(DEFAULT_BACKOFF_LIMIT)),
            active_deadline_seconds: Some(spec.deadline_seconds.unwrap_or(DEFAULT_DEADLINE_SECONDS).into()),
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta { labels: Some(labels(base)), ..ObjectMeta::default() }),
                spec: Some(pod(base, asked, observed, &spec, default_image)),
            },
            ..JobSpec::default()
        }),
        status: None,
    }
}

fn pod(base: &KnowledgeBase, asked: &Asked, observed: &Observed, spec: &IngestionSpec, default_image: &str) -> PodSpec {
    let (volumes, mounts) = volumes(base, asked, observed).into_iter().unzip();
    let newly_accepted = asked.wanted.accept_deletes.as_ref().is_some_and(|accepted| {
        let last = base.status.as_ref().and_then(|status| status.last_run.as_ref());
        last.and_then(|last| last.accept_deletes.as_ref()) != Some(accepted)
    });
    let mut arguments = vec![
        "ingest".to_owned(),
        format!("--config={CONFIG_FOLDER}/{INGESTION_FILE}"),
        format!("--data-dir={STATE_FOLDER}"),
        "--report=/dev/termination-log".to_owned(),
    ];
    arguments.extend(newly_accepted.then(|| "--accept-deletes".to_owned()));
    let pull_secrets: Vec<LocalObjectReference> =
        spec.image_pull_secrets.iter().map(|secret| LocalObjectReference { name: secret.name.clone() }).collect();
    PodSpec {
        restart_policy: Some("Never".to_owned()),
        automount_service_account_token: Some(false),
        enable_service_links: Some(false),
        termination_grace_period_seconds: Some(GRACE_SECONDS),
        image_pull_secrets: (!pull_secrets.is_empty()).then_some(pull_secrets),
        security_context: Some(PodSecurityContext {
            run_as_non_root: Some(true),
            run_as_user: Some(USER),
            run_as_group: Some(USER),
            fs_group: Some(USER),
            fs_group_change_policy: Some("OnRootMismatch".to_owned()),
            seccomp_profile: Some(SeccompProfile { type_: "RuntimeDefault".to_owned(), localhost_profile: None }),
            ..PodSecurityContext::default()
        }),
        containers: vec![Container {
            name: "ingest".to_owned(),
            image: Some(spec.image.clone().unwrap_or_else(|| default_image.to_owned())),
            command: Some(vec!["groundwork".to_owned()]),
            args: Some(arguments),
            resources: Some(resources(spec.resources.as_ref())),
            security_context: Some(SecurityContext {
                allow_privilege_escalation: Some(false),
                read_only_root_filesystem: Some(true),
                capabilities: Some(Capabilities { drop: Some(vec!["ALL".to_owned()]), add: None }),
                ..SecurityContext::default()
            }),
            volume_mounts: Some(mounts),
            ..Container::default()
        }],
        volumes: Some(volumes),
        ..PodSpec::default()
    }
}

/// Each volume with where it is mounted.
fn volumes(base: &KnowledgeBase, asked: &Asked, observed: &Observed) -> Vec<(Volume, VolumeMount)> {
    let mount = |name: &str, path: String, read_only: bool| VolumeMount {
        name: name.to_owned(),
        mount_path: path,
        read_only: read_only.then_some(true),
        ..VolumeMount::default()
    };
    let volume = |name: &str| Volume { name: name.to_owned(), ..Volume::default() };
    let claim = |name: &str, read_only: bool| {
        let read_only = read_only.then_some(true);
        Some(PersistentVolumeClaimVolumeSource { claim_name: name.to_owned(), read_only })
    };
    let config = ConfigMapVolumeSource {
        name: names::config(&base.name_any(), &asked.wanted.config_hash),
        ..ConfigMapVolumeSource::default()
    };
    let scratch = EmptyDirVolumeSource { size_limit: Some(Quantity(SCRATCH_SIZE.to_owned())), medium: None };
    let mut volumes = vec![
        (Volume { config_map: Some(config), ..volume("config") }, mount("config", CONFIG_FOLDER.to_owned(), true)),
        (
            Volume { persistent_volume_claim: claim(&names::state_claim(base), false), ..volume("state") },
            mount("state", STATE_FOLDER.to_owned(), false),
        ),
        (Volume { empty_dir: Some(scratch), ..volume("tmp") }, mount("tmp", "/tmp".to_owned(), false)),
    ];
    for source in &base.spec.sources {
        let Some(spec) =
            source.persistent_volume_claim.as_ref().filter(|_| source.r#type == SourceType::PersistentVolumeClaim)
        else {
            continue;
        };
        let name = format!("source-{}", source.name);
        volumes.push((
            Volume { persistent_volume_claim: claim(&spec.claim_name, true), ..volume(&name) },
            mount(&name, format!("{SOURCES_FOLDER}/{}", source.name), true),
        ));
    }
    let secrets: BTreeSet<&str> = observed.keys.iter().map(|key| key.wanted.name.as_str()).collect();
    for (index, secret) in secrets.into_iter().enumerate() {
        let name = format!("secret-{index}");
        let source = SecretVolumeSource {
            secret_name: Some(secret.to_owned()),
            default_mode: Some(SECRET_MODE),
            ..SecretVolumeSource::default()
        };
        volumes.push((
            Volume { secret: Some(source), ..volume(&name) },
            mount(&name, format!("{SECRETS_FOLDER}/{secret}"), true),
        ));
    }
    volumes
}

fn resources(spec: Option<&ResourcesSpec>) -> ResourceRequirements {
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

/// Metadata of an object that goes with the knowledge base.
fn metadata(base: &KnowledgeBase, name: String, annotations: BTreeMap<String, String>) -> ObjectMeta {
    ObjectMeta {
        name: Some(name),
        namespace: base.namespace(),
        labels: Some(labels(base)),
        annotations: (!annotations.is_empty()).then_some(annotations),
        owner_references: base.controller_owner_ref(&()).map(|owner| vec![plain(owner)]),
        ..ObjectMeta::default()
    }
}

/// Without blocking the owner's deletion, which would need one more right.
fn plain(owner: OwnerReference) -> OwnerReference {
    OwnerReference { block_owner_deletion: None, ..owner }
}

fn labels(base: &KnowledgeBase) -> BTreeMap<String, String> {
    [
        ("app.kubernetes.io/name", "groundwork"),
        ("app.kubernetes.io/component", "ingestion"),
        (MANAGED_BY, MANAGER),
        (KNOWLEDGE_BASE, &base.name_any()),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into()
}
