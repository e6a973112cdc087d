//! The watches and the controllers of all kinds, and which touches which.

use futures::FutureExt;
use groundwork_crds::{AgentPipeline, KnowledgeBase, ModelEndpoint, ToolPolicy};
use kube_client::{Client, ResourceExt};
use kube_runtime::events::{Recorder, Reporter};
use kube_runtime::reflector::store::Writer;
use kube_runtime::reflector::{self, Store};
use kube_runtime::watcher;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

use crate::cli::Settings;
use crate::context::{Context, Stores};
use crate::controller::{Reconciled, control};
use crate::health::{Health, Phase};
use crate::metrics::Metrics;
use crate::names::MANAGER;
use crate::users::{endpoints_of_base, endpoints_of_pipeline, policies_of_pipeline};
use crate::watch::{Guarded, Queue, Requests, Scope, Watched, watch};

/// What is under way at the end may take so long.
const DRAIN: Duration = Duration::from_secs(10);

/// Watches and controllers under way.
pub(crate) struct Work {
    /// Feed the queues; their end ends the controllers once those have finished what runs.
    watches: JoinSet<()>,
    controllers: JoinSet<()>,
}

impl Work {
    /// Watches at once; reconciles, and says so, once all first lists are there.
    pub(crate) fn start(
        client: Client,
        scope: Scope,
        settings: Settings,
        metrics: Arc<Metrics>,
        health: Health,
    ) -> Self {
        let (knowledge_bases, base_writer) = reflector::store();
        let (pipelines, pipeline_writer) = reflector::store();
        let (endpoints, endpoint_writer) = reflector::store();
        let (policies, policy_writer) = reflector::store();
        let stores = Stores { knowledge_bases, pipelines, endpoints, policies };
        let (endpoint_queue, endpoint_requests) = Queue::<ModelEndpoint>::new();
        let (policy_queue, policy_requests) = Queue::<ToolPolicy>::new();

        let watcher = watcher::Config::default().timeout(settings.watch_seconds);
        let mut watches =
            Watches { set: JoinSet::new(), client: client.clone(), scope, watcher, metrics: metrics.clone() };
        let queue = endpoint_queue.clone();
        watches.watch(base_writer, move |base: &KnowledgeBase, namespace| {
            endpoints_of_base(base).into_iter().for_each(|name| queue.add(namespace, name));
        });
        let (queue, other_queue) = (endpoint_queue.clone(), policy_queue.clone());
        watches.watch(pipeline_writer, move |pipeline: &AgentPipeline, namespace| {
            endpoints_of_pipeline(pipeline).into_iter().for_each(|name| queue.add(namespace, name));
            policies_of_pipeline(pipeline).into_iter().for_each(|name| other_queue.add(namespace, name));
        });
        watches.watch_own(endpoint_writer, endpoint_queue);
        watches.watch_own(policy_writer, policy_queue);

        let reporter = Reporter { controller: MANAGER.to_owned(), instance: settings.pod_name.clone() };
        let recorder = Recorder::new(client.clone(), reporter);
        let context = Arc::new(Context { client, recorder, stores: stores.clone(), metrics, settings });
        let mut controllers = JoinSet::new();
        // Waited for once: a store wakes only one of those who wait for its first list.
        let listed = all_listed(stores.clone()).boxed().shared();
        controllers.spawn(begin(listed.clone(), stores.endpoints, endpoint_requests, context.clone()));
        controllers.spawn(begin(listed.clone(), stores.policies, policy_requests, context));
        controllers.spawn(async move {
            if listed.await {
                health.set(Phase::Working);
            }
        });
        Self { watches: watches.set, controllers }
    }

    /// Takes nothing new and waits for what runs, not for ever.
    pub(crate) async fn drain(mut self) {
        self.watches.shutdown().await;
        let finished = async { while self.controllers.join_next().await.is_some() {} };
        if tokio::time::timeout(DRAIN, finished).await.is_err() {
            tracing::warn!("reconciliations under way took too long and were dropped");
        }
        self.controllers.shutdown().await;
    }
}

/// Reconciles a kind once the first lists of all are there: what an object is said to be used by comes from the copies.
async fn begin<K: Reconciled>(
    listed: impl Future<Output = bool>,
    store: Store<Guarded<K>>,
    requests: Requests<K>,
    context: Arc<Context>,
) {
    if listed.await {
        control(store, requests, context).await;
    }
}

/// False where the watches ended before.
async fn all_listed(stores: Stores) -> bool {
    let listed = async {
        stores.knowledge_bases.wait_until_ready().await?;
        stores.pipelines.wait_until_ready().await?;
        stores.endpoints.wait_until_ready().await?;
        stores.policies.wait_until_ready().await
    };
    listed.await.is_ok()
}

/// Watches and what each is started with.
struct Watches {
    set: JoinSet<()>,
    client: Client,
    scope: Scope,
    watcher: watcher::Config,
    metrics: Arc<Metrics>,
}

impl Watches {
    /// Calls `touched` with each object of the kind that came, changed or went, and with its namespace. One that cannot be
    /// read names nothing.
    fn watch<K: Watched>(&mut self, writer: Writer<Guarded<K>>, touched: impl Fn(&K, &str) + Send + 'static) {
        self.spawn(writer, move |object| {
            if let Ok(readable) = &object.0 {
                touched(readable, &object.namespace().unwrap_or_default());
            }
        });
    }

    /// Adds each object of the kind itself to its queue.
    fn watch_own<K: Watched>(&mut self, writer: Writer<Guarded<K>>, queue: Queue<K>) {
        self.spawn(writer, move |object| {
            queue.add(&object.namespace().unwrap_or_default(), &object.name_any());
        });
    }

    fn spawn<K: Watched>(&mut self, writer: Writer<Guarded<K>>, touched: impl Fn(&Guarded<K>) + Send + 'static) {
        let (client, scope) = (self.client.clone(), self.scope.clone());
        let (watcher, metrics) = (self.watcher.clone(), self.metrics.clone());
        self.set.spawn(async move { watch(client, &scope, watcher, writer, metrics, touched).await });
    }
}
