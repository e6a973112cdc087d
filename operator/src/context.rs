//! What a reconciliation works with.

use groundwork_crds::{AgentPipeline, KnowledgeBase, ModelEndpoint, ToolPolicy};
use k8s_openapi::api::batch::v1::Job;
use kube_client::Client;
use kube_runtime::events::Recorder;
use kube_runtime::reflector::Store;
use std::sync::Arc;
use tokio::sync::mpsc::UnboundedSender;

use crate::capacity::{Capacity, Key};
use crate::cli::Settings;
use crate::metrics::Metrics;
use crate::watch::Guarded;

/// Shared by all kinds.
pub(crate) struct Context {
    pub(crate) client: Client,
    pub(crate) recorder: Recorder,
    pub(crate) stores: Stores,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) settings: Settings,
    pub(crate) network: Network,
    pub(crate) capacity: Capacity,
    /// Has a knowledge base looked at again.
    pub(crate) wake: UnboundedSender<Key>,
}

/// Who may reach every pod that answers, beside whom its manifest names.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    /// The namespace of the operator's own pods.
    pub(crate) operator_namespace: String,
    /// Namespaces whose pods may read metrics.
    pub(crate) metrics_from: Vec<String>,
}

/// Copies of the objects of each kind, kept by its watch.
#[derive(Clone)]
pub(crate) struct Stores {
    pub(crate) knowledge_bases: Store<Guarded<KnowledgeBase>>,
    pub(crate) pipelines: Store<Guarded<AgentPipeline>>,
    pub(crate) endpoints: Store<Guarded<ModelEndpoint>>,
    pub(crate) policies: Store<Guarded<ToolPolicy>>,
    /// Those that the operator made.
    pub(crate) jobs: Store<Guarded<Job>>,
}
