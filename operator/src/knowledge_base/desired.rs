//! What must be there for an ingestion. Pure.

use groundwork_config::{Contract, Store};
use groundwork_crds::{IngestionSpec, KnowledgeBase, SourceType};
use k8s_openapi::api::batch::v1::{Job, JobSpec};
use k8s_openapi::api::core::v1::{
    ConfigMap, Container, PersistentVolumeClaim, PersistentVolumeClaimSpec, PodSpec, PodTemplateSpec,
    VolumeResourceRequirements,
};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_client::ResourceExt;
use std::collections::{BTreeMap, BTreeSet};

use super::names::{self, CONTRACT_FILE, INGESTION_FILE, STATE_FOLDER};
use super::observe::Observed;
use super::validate::Asked;
use crate::names::{
    ACCEPT_DELETES, CONFIG_HASH, KNOWLEDGE_BASE, REBUILD_REQUESTED_AT, REVISION, SPEC_HASH, SYNC_REQUESTED_AT,
};
use crate::network;
use crate::pods::{self, CONFIG_FOLDER, Mounted, SOURCES_FOLDER};

const DEFAULT_STATE_SIZE: &str = "1Gi";
const DEFAULT_DEADLINE_SECONDS: i32 = 21_600;
const DEFAULT_BACKOFF_LIMIT: i32 = 3;
/// Longer than a sync takes to end after SIGTERM.
const GRACE_SECONDS: i64 = 60;
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
    let name = names::config(&base.name_any(), &asked.wanted.config_hash);
    let metadata = pods::metadata(job, name, labels(base), BTreeMap::new());
    let text = serde_json::to_string_pretty(&asked.ingestion).expect("a configuration holds only JSON types");
    ConfigMap {
        metadata,
        immutable: Some(true),
        data: Some(BTreeMap::from([(INGESTION_FILE.to_owned(), text)])),
        ..ConfigMap::default()
    }
}

/// What pods that ingest reach: the store and the model. Nobody reaches them.
pub(super) fn network_policy(base: &KnowledgeBase, asked: &Asked) -> NetworkPolicy {
    let store = match &asked.ingestion.knowledge_base.store {
        Store::Qdrant(server) => Some(server.url.as_str()),
        Store::Embedded => None,
    };
    let models = asked.ingestion.endpoints.iter().map(|endpoint| endpoint.base_url.as_str());
    let addresses: Vec<&str> = store.into_iter().chain(models).collect();
    let mut pods = labels(base);
    pods.retain(|name, _| name == "app.kubernetes.io/component" || name == KNOWLEDGE_BASE);
    let metadata = metadata(base, names::base(&base.name_any()), BTreeMap::new());
    network::policy(metadata, pods, Vec::new(), &addresses)
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
    PodSpec {
        restart_policy: Some("Never".to_owned()),
        automount_service_account_token: Some(false),
        enable_service_links: Some(false),
        termination_grace_period_seconds: Some(GRACE_SECONDS),
        image_pull_secrets: pods::pull_secrets(&spec.image_pull_secrets),
        security_context: Some(pods::pod_security()),
        containers: vec![Container {
            name: "ingest".to_owned(),
            image: Some(spec.image.clone().unwrap_or_else(|| default_image.to_owned())),
            command: Some(vec!["groundwork".to_owned()]),
            args: Some(arguments),
            resources: Some(pods::resources(spec.resources.as_ref())),
            security_context: Some(pods::container_security()),
            volume_mounts: Some(mounts),
            ..Container::default()
        }],
        volumes: Some(volumes),
        ..PodSpec::default()
    }
}

fn volumes(base: &KnowledgeBase, asked: &Asked, observed: &Observed) -> Vec<Mounted> {
    let config = names::config(&base.name_any(), &asked.wanted.config_hash);
    let mut volumes = vec![
        pods::config_map("config", config, CONFIG_FOLDER),
        pods::claim("state", &names::state_claim(base), STATE_FOLDER.to_owned(), false),
        pods::scratch(SCRATCH_SIZE),
    ];
    for source in base.spec.sources.iter().filter(|source| source.r#type == SourceType::PersistentVolumeClaim) {
        let Some(claim) = &source.persistent_volume_claim else { continue };
        let (volume, path) = (format!("source-{}", source.name), format!("{SOURCES_FOLDER}/{}", source.name));
        volumes.push(pods::claim(&volume, &claim.claim_name, path, true));
    }
    let secrets: BTreeSet<&str> = observed.keys.iter().map(|key| key.wanted.name.as_str()).collect();
    volumes.extend(pods::secrets(secrets));
    volumes
}

fn metadata(base: &KnowledgeBase, name: String, annotations: BTreeMap<String, String>) -> ObjectMeta {
    pods::metadata(base, name, labels(base), annotations)
}

fn labels(base: &KnowledgeBase) -> BTreeMap<String, String> {
    pods::labels("ingestion", KNOWLEDGE_BASE, &base.name_any())
}
