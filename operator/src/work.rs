//! The watches and the controllers of all kinds.

use futures::FutureExt;
use groundwork_crds::{AgentPipeline, KnowledgeBase, ModelEndpoint, ToolPolicy};
use k8s_openapi::api::apps::v1::Deployment;
use kube_client::Client;
use kube_runtime::events::{Recorder, Reporter};
use kube_runtime::reflector::store::Writer;
use kube_runtime::reflector::{self, Store};
use kube_runtime::watcher;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

use crate::capacity::{Capacity, Key};
use crate::cli::Settings;
use crate::context::{Context, Network, Stores};
use crate::controller::{Reconciled, control};
use crate::health::{Health, Phase};
use crate::metrics::Metrics;
use crate::names::{MANAGED_BY, MANAGER};
use crate::routes::Routes;
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
        operator_namespace: String,
        settings: Settings,
        metrics: Arc<Metrics>,
        health: Health,
    ) -> Self {
        let (knowledge_bases, base_writer) = reflector::store();
        let (pipelines, pipeline_writer) = reflector::store();
        let (endpoints, endpoint_writer) = reflector::store();
        let (policies, policy_writer) = reflector::store();
        let (jobs, job_writer) = reflector::store();
        let stores = Stores { knowledge_bases, pipelines, endpoints, policies, jobs };
        let (base_queue, base_requests) = Queue::<KnowledgeBase>::new();
        let (pipeline_queue, pipeline_requests) = Queue::<AgentPipeline>::new();
        let (endpoint_queue, endpoint_requests) = Queue::<ModelEndpoint>::new();
        let (policy_queue, policy_requests) = Queue::<ToolPolicy>::new();
        let routes = Routes {
            stores: stores.clone(),
            bases: base_queue.clone(),
            pipelines: pipeline_queue,
            endpoints: endpoint_queue,
            policies: policy_queue,
        };

        let watcher = watcher::Config::default().timeout(settings.watch_seconds);
        // What the operator made itself.
        let own = watcher.clone().labels(&format!("{MANAGED_BY}={MANAGER}"));
        let mut watches = Watches { set: JoinSet::new(), client: client.clone(), scope, metrics: metrics.clone() };
        watches.spawn(&watcher, base_writer, &routes, Routes::base);
        watches.spawn(&watcher, pipeline_writer, &routes, Routes::pipeline);
        watches.spawn(&watcher, endpoint_writer, &routes, Routes::endpoint);
        watches.spawn(&watcher, policy_writer, &routes, Routes::policy);
        watches.spawn(&own, job_writer, &routes, Routes::job);
        watches.spawn(&own, reflector::store::<Guarded<Deployment>>().1, &routes, Routes::deployment);
        let wake = watches.wake(base_queue);
        drop(routes);

        let reporter = Reporter { controller: MANAGER.to_owned(), instance: settings.pod_name.clone() };
        let recorder = Recorder::new(client.clone(), reporter);
        let capacity = Capacity::new(settings.max_ingestions.into(), settings.max_ingestions_per_namespace.into());
        let network = Network { operator_namespace, metrics_from: settings.metrics_from.clone() };
        let context =
            Arc::new(Context { client, recorder, stores: stores.clone(), metrics, settings, network, capacity, wake });
        let mut controllers = JoinSet::new();
        // Waited for once: a store wakes only one of those who wait for its first list.
        let listed = all_listed(stores.clone()).boxed().shared();
        controllers.spawn(begin(listed.clone(), stores.knowledge_bases, base_requests, context.clone()));
        controllers.spawn(begin(listed.clone(), stores.pipelines, pipeline_requests, context.clone()));
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
        stores.policies.wait_until_ready().await?;
        stores.jobs.wait_until_ready().await
    };
    listed.await.is_ok()
}

/// Watches and what all are started with.
struct Watches {
    set: JoinSet<()>,
    client: Client,
    scope: Scope,
    metrics: Arc<Metrics>,
}

impl Watches {
    /// Tells `route` each object of the kind that came, changed or went.
    fn spawn<K: Watched>(
        &mut self,
        settings: &watcher::Config,
        writer: Writer<Guarded<K>>,
        routes: &Routes,
        route: fn(&Routes, &Guarded<K>),
    ) {
        let (client, scope, metrics) = (self.client.clone(), self.scope.clone(), self.metrics.clone());
        let (settings, routes) = (settings.clone(), routes.clone());
        let touched = move |object: &Guarded<K>| route(&routes, object);
        self.set.spawn(async move { watch(client, &scope, settings, writer, metrics, touched).await });
    }

    /// Adds what is sent to a queue. Ends with the watches, so that a sender that is kept does not keep the controllers.
    fn wake(&mut self, queue: Queue<KnowledgeBase>) -> UnboundedSender<Key> {
        let (sender, mut receiver) = unbounded_channel::<Key>();
        self.set.spawn(async move {
            while let Some((namespace, name)) = receiver.recv().await {
                queue.add(&namespace, &name);
            }
        });
        sender
    }
}
