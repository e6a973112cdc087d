//! What a reconciliation works with.

use groundwork_crds::{AgentPipeline, KnowledgeBase, ModelEndpoint, ToolPolicy};
use kube_client::Client;
use kube_runtime::events::Recorder;
use kube_runtime::reflector::Store;
use std::sync::Arc;

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
}

/// Copies of the objects of each kind, kept by its watch.
#[derive(Clone)]
pub(crate) struct Stores {
    pub(crate) knowledge_bases: Store<Guarded<KnowledgeBase>>,
    pub(crate) pipelines: Store<Guarded<AgentPipeline>>,
    pub(crate) endpoints: Store<Guarded<ModelEndpoint>>,
    pub(crate) policies: Store<Guarded<ToolPolicy>>,
}
