//! What must be there for a pipeline. Pure.

use groundwork_config::Store;
use groundwork_crds::{AgentPipeline, RuntimeSpec};
use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy, RollingUpdateDeployment};
use k8s_openapi::api::core::v1::{
    ConfigMap, Container, ContainerPort, HTTPGetAction, PodSpec, PodTemplateSpec, Probe, Service, ServiceAccount,
    ServicePort, ServiceSpec,
};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube_client::ResourceExt;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

use super::names::{self, KEYS_FOLDER, POLICY_FILE, POLICY_FOLDER, SERVING_FILE};
use super::observe::{Observed, caller_keys};
use super::validate::Asked;
use crate::context::Network;
use crate::names::{CONFIG_HASH, PIPELINE};
use crate::network;
use crate::pods::{self, CONFIG_FOLDER, Mounted};

const API_PORT: i32 = 8080;
const HEALTH_PORT: i32 = 8081;
/// Longer than requests in flight may take to end.
const GRACE_SECONDS: i64 = 60;
/// Rollouts before the present one that can be returned to.
const KEPT_ROLLOUTS: i32 = 2;
const SCRATCH_SIZE: &str = "1Gi";

/// What pods read at their start.
pub(super) fn config(pipeline: &AgentPipeline, asked: &Asked) -> ConfigMap {
    let text = serde_json::to_string_pretty(&asked.serving).expect("a configuration holds only JSON types");
    ConfigMap {
        metadata: metadata(pipeline, names::config(&pipeline.name_any(), &asked.config_hash)),
        immutable: Some(true),
        data: Some(BTreeMap::from([(SERVING_FILE.to_owned(), text)])),
        ..ConfigMap::default()
    }
}

/// The policy, which pods read again whenever it changes.
pub(super) fn policy(pipeline: &AgentPipeline, text: &str) -> ConfigMap {
    ConfigMap {
        metadata: metadata(pipeline, names::policy(&pipeline.name_any())),
        data: Some(BTreeMap::from([(POLICY_FILE.to_owned(), text.to_owned())])),
        ..ConfigMap::default()
    }
}

/// The limits.
pub(super) fn policy_text(asked: &Asked) -> String {
    serde_json::to_string_pretty(&asked.policy).expect("a policy holds only JSON types")
}

/// No limits that could be read: a pod denies every question then. It says why to people who look.
pub(super) fn denial_text(why: &str) -> String {
    json!({"denied": why}).to_string()
}

/// The account of the pods. It has no rights, and pods get no token of it.
pub(super) fn account(pipeline: &AgentPipeline) -> ServiceAccount {
    ServiceAccount {
        metadata: metadata(pipeline, names::base(&pipeline.name_any())),
        automount_service_account_token: Some(false),
        ..ServiceAccount::default()
    }
}

/// Where questions are asked.
pub(super) fn service(pipeline: &AgentPipeline) -> Service {
    Service {
        metadata: metadata(pipeline, names::base(&pipeline.name_any())),
        spec: Some(ServiceSpec {
            selector: Some(selector(pipeline)),
            ports: Some(vec![ServicePort {
                name: Some("http".to_owned()),
                port: 80,
                protocol: Some("TCP".to_owned()),
                target_port: Some(IntOrString::String("api".to_owned())),
                ..ServicePort::default()
            }]),
            ..ServiceSpec::default()
        }),
        status: None,
    }
}

/// One pod at a time may be taken away.
pub(super) fn disruption_budget(pipeline: &AgentPipeline) -> PodDisruptionBudget {
    PodDisruptionBudget {
        metadata: metadata(pipeline, names::base(&pipeline.name_any())),
        spec: Some(PodDisruptionBudgetSpec {
            max_unavailable: Some(IntOrString::Int(1)),
            selector: Some(LabelSelector { match_labels: Some(selector(pipeline)), match_expressions: None }),
            ..PodDisruptionBudgetSpec::default()
        }),
        status: None,
    }
}

/// Who may reach the pods, and what they reach: stores and models.
pub(super) fn network_policy(pipeline: &AgentPipeline, asked: &Asked, settings: &Network) -> NetworkPolicy {
    let operator = BTreeMap::from([("app.kubernetes.io/component".to_owned(), "operator".to_owned())]);
    let mut health = vec![network::pods_in(&settings.operator_namespace, operator)];
    health.extend(settings.metrics_from.iter().map(|namespace| network::namespace(namespace)));
    let mut ingress = vec![network::from(health, HEALTH_PORT)];
    let callers: Vec<_> = pipeline.spec.expose.iter().flat_map(|expose| &expose.from).map(network::peer).collect();
    if !callers.is_empty() {
        ingress.push(network::from(callers, API_PORT));
    }
    let config = &asked.serving.config;
    let stores = config.knowledge_bases.iter().filter_map(|base| match &base.store {
        Store::Qdrant(server) => Some(server.url.as_str()),
        Store::Embedded => None,
    });
    let addresses: Vec<&str> =
        stores.chain(config.endpoints.iter().map(|endpoint| endpoint.base_url.as_str())).collect();
    network::policy(metadata(pipeline, names::base(&pipeline.name_any())), selector(pipeline), ingress, &addresses)
}

/// The pods. Without a declared number of them, others set it: nothing is said of it then.
pub(super) fn deployment(
    pipeline: &AgentPipeline,
    asked: &Asked,
    observed: &Observed,
    default_image: &str,
) -> Deployment {
    let spec = pipeline.spec.runtime.clone().unwrap_or_default();
    Deployment {
        metadata: metadata(pipeline, names::base(&pipeline.name_any())),
        spec: Some(DeploymentSpec {
            replicas: spec.replicas,
            revision_history_limit: Some(KEPT_ROLLOUTS),
            selector: LabelSelector { match_labels: Some(selector(pipeline)), match_expressions: None },
            strategy: Some(DeploymentStrategy {
                type_: Some("RollingUpdate".to_owned()),
                // Those before go on until those after are ready.
                rolling_update: Some(RollingUpdateDeployment {
                    max_surge: Some(IntOrString::Int(1)),
                    max_unavailable: Some(IntOrString::Int(0)),
                }),
            }),
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    labels: Some(labels(pipeline)),
                    annotations: Some(BTreeMap::from([(CONFIG_HASH.to_owned(), asked.config_hash.clone())])),
                    ..ObjectMeta::default()
                }),
                spec: Some(pod(pipeline, asked, observed, &spec, default_image)),
            },
            ..DeploymentSpec::default()
        }),
        status: None,
    }
}

fn pod(
    pipeline: &AgentPipeline,
    asked: &Asked,
    observed: &Observed,
    spec: &RuntimeSpec,
    default_image: &str,
) -> PodSpec {
    let (volumes, mounts) = volumes(pipeline, asked, observed).into_iter().unzip();
    let port = |name: &str, number| ContainerPort {
        name: Some(name.to_owned()),
        container_port: number,
        protocol: Some("TCP".to_owned()),
        ..ContainerPort::default()
    };
    let probe = |path: &str| {
        let port = IntOrString::String("health".to_owned());
        let action = HTTPGetAction { path: Some(path.to_owned()), port, ..HTTPGetAction::default() };
        Some(Probe { http_get: Some(action), ..Probe::default() })
    };
    PodSpec {
        service_account_name: Some(names::base(&pipeline.name_any())),
        automount_service_account_token: Some(false),
        enable_service_links: Some(false),
        termination_grace_period_seconds: Some(GRACE_SECONDS),
        image_pull_secrets: pods::pull_secrets(&spec.image_pull_secrets),
        security_context: Some(pods::pod_security()),
        containers: vec![Container {
            name: "runtime".to_owned(),
            image: Some(spec.image.clone().unwrap_or_else(|| default_image.to_owned())),
            command: Some(vec!["groundwork".to_owned()]),
            args: Some(vec![
                "serve".to_owned(),
                format!("--config={CONFIG_FOLDER}/{SERVING_FILE}"),
                format!("--policy={POLICY_FOLDER}/{POLICY_FILE}"),
                format!("--listen=0.0.0.0:{API_PORT}"),
                format!("--health-listen=0.0.0.0:{HEALTH_PORT}"),
            ]),
            ports: Some(vec![port("api", API_PORT), port("health", HEALTH_PORT)]),
            liveness_probe: probe("/healthz"),
            readiness_probe: probe("/readyz"),
            resources: Some(pods::resources(spec.resources.as_ref())),
            security_context: Some(pods::container_security()),
            volume_mounts: Some(mounts),
            ..Container::default()
        }],
        volumes: Some(volumes),
        ..PodSpec::default()
    }
}

fn volumes(pipeline: &AgentPipeline, asked: &Asked, observed: &Observed) -> Vec<Mounted> {
    let name = pipeline.name_any();
    let mut volumes = vec![
        pods::config_map("config", names::config(&name, &asked.config_hash), CONFIG_FOLDER),
        pods::config_map("policy", names::policy(&name), POLICY_FOLDER),
        pods::scratch(SCRATCH_SIZE),
    ];
    volumes.extend(caller_keys(pipeline).map(|secret| pods::secret("api-keys", secret, KEYS_FOLDER.to_owned())));
    let secrets: BTreeSet<&str> = observed.keys.iter().map(|key| key.wanted.name.as_str()).collect();
    volumes.extend(pods::secrets(secrets));
    volumes
}

fn metadata(pipeline: &AgentPipeline, name: String) -> ObjectMeta {
    pods::metadata(pipeline, name, labels(pipeline), BTreeMap::new())
}

fn labels(pipeline: &AgentPipeline) -> BTreeMap<String, String> {
    pods::labels("runtime", PIPELINE, &pipeline.name_any())
}

/// What a pod is found by; it never changes.
fn selector(pipeline: &AgentPipeline) -> BTreeMap<String, String> {
    let mut labels = labels(pipeline);
    labels.retain(|name, _| name == "app.kubernetes.io/component" || name == PIPELINE);
    labels
}
