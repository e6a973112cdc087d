//! The watches and the controllers of all kinds, and which touches which.

use futures::FutureExt;
use groundwork_crds::{AgentPipeline, KnowledgeBase, ModelEndpoint, ToolPolicy};
use k8s_openapi::api::batch::v1::Job;
use kube_client::{Client, ResourceExt};
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
use crate::context::{Context, Stores};
use crate::controller::{Reconciled, control};
use crate::health::{Health, Phase};
use crate::metrics::Metrics;
use crate::names::{KNOWLEDGE_BASE, MANAGED_BY, MANAGER};
use crate::users::{endpoints_of_base, endpoints_of_pipeline, naming, policies_of_pipeline};
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
        let (jobs, job_writer) = reflector::store();
        let stores = Stores { knowledge_bases, pipelines, endpoints, policies, jobs };
        let (base_queue, base_requests) = Queue::<KnowledgeBase>::new();
        let (endpoint_queue, endpoint_requests) = Queue::<ModelEndpoint>::new();
        let (policy_queue, policy_requests) = Queue::<ToolPolicy>::new();

        let watcher = watcher::Config::default().timeout(settings.watch_seconds);
        let mut watches =
            Watches { set: JoinSet::new(), client: client.clone(), scope, watcher, metrics: metrics.clone() };
        let (queue, own_queue) = (endpoint_queue.clone(), base_queue.clone());
        watches.spawn(base_writer, move |object: &Guarded<KnowledgeBase>| {
            let namespace = object.namespace().unwrap_or_default();
            if let Ok(base) = &object.0 {
                endpoints_of_base(base).into_iter().for_each(|name| queue.add(&namespace, name));
            }
            own_queue.add(&namespace, &object.name_any());
        });
        watches.watch_jobs(job_writer, base_queue.clone());
        let (queue, other_queue) = (endpoint_queue.clone(), policy_queue.clone());
        watches.watch(pipeline_writer, move |pipeline: &AgentPipeline, namespace| {
            endpoints_of_pipeline(pipeline).into_iter().for_each(|name| queue.add(namespace, name));
            policies_of_pipeline(pipeline).into_iter().for_each(|name| other_queue.add(namespace, name));
        });
        let (bases, own_queue, queue) = (stores.knowledge_bases.clone(), endpoint_queue.clone(), base_queue.clone());
        watches.spawn(endpoint_writer, move |object: &Guarded<ModelEndpoint>| {
            let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
            for user in naming(&bases, (&namespace, &name), endpoints_of_base) {
                queue.add(&namespace, &user.name);
            }
            own_queue.add(&namespace, &name);
        });
        let wake = watches.wake(base_queue);
        watches.watch_own(policy_writer, policy_queue);

        let reporter = Reporter { controller: MANAGER.to_owned(), instance: settings.pod_name.clone() };
        let recorder = Recorder::new(client.clone(), reporter);
        let capacity = Capacity::new(settings.max_ingestions.into(), settings.max_ingestions_per_namespace.into());
        let context = Arc::new(Context { client, recorder, stores: stores.clone(), metrics, settings, capacity, wake });
        let mut controllers = JoinSet::new();
        // Waited for once: a store wakes only one of those who wait for its first list.
        let listed = all_listed(stores.clone()).boxed().shared();
        controllers.spawn(begin(listed.clone(), stores.knowledge_bases, base_requests, context.clone()));
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

    /// Watches the operator's own Jobs and adds the knowledge base of each to its queue.
    fn watch_jobs(&mut self, writer: Writer<Guarded<Job>>, queue: Queue<KnowledgeBase>) {
        let settings = self.watcher.clone().labels(&format!("{MANAGED_BY}={MANAGER}"));
        self.spawn_with(settings, writer, move |job: &Guarded<Job>| {
            if let Some(base) = job.labels().get(KNOWLEDGE_BASE) {
                queue.add(&job.namespace().unwrap_or_default(), base);
            }
        });
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

    fn spawn<K: Watched>(&mut self, writer: Writer<Guarded<K>>, touched: impl Fn(&Guarded<K>) + Send + 'static) {
        self.spawn_with(self.watcher.clone(), writer, touched);
    }

    fn spawn_with<K: Watched>(
        &mut self,
        watcher: watcher::Config,
        writer: Writer<Guarded<K>>,
        touched: impl Fn(&Guarded<K>) + Send + 'static,
    ) {
        let (client, scope, metrics) = (self.client.clone(), self.scope.clone(), self.metrics.clone());
        self.set.spawn(async move { watch(client, &scope, watcher, writer, metrics, touched).await });
    }
}
