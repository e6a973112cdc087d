//! Start to end of `groundwork-operator run`.

use anyhow::{Context as _, Result, bail};
use groundwork_crds::{AgentPipeline, KnowledgeBase, ModelEndpoint};
use kube_client::{Client, Config, ResourceExt};
use kube_runtime::events::{Recorder, Reporter};
use kube_runtime::reflector::{self, store::Writer};
use kube_runtime::watcher;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tracing_subscriber::EnvFilter;

use crate::cli::{LogFormat, Settings};
use crate::context::{Context, Stores};
use crate::controller::control;
use crate::health::{Health, Phase};
use crate::lease::{Elector, LeaseSettings, identity};
use crate::metrics::Metrics;
use crate::model_endpoint::{named_by_knowledge_base, named_by_pipeline};
use crate::names::MANAGER;
use crate::watch::{Guarded, Queue, Requests, Scope, Watched, watch};
use crate::{client, definitions};

/// Between two looks at definitions that are missing or old.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// What is under way at the end may take so long.
const DRAIN: Duration = Duration::from_secs(10);

/// Runs until SIGTERM or SIGINT; an error where the lease is lost, so that the pod starts anew.
#[tokio::main]
pub(crate) async fn run(settings: Settings) -> Result<()> {
    log(settings.log_format);
    // rustls takes no provider by itself.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut stop = Stop::new()?;
    let config = Config::infer().await.context("failed to find a cluster: set KUBECONFIG or run it in a pod")?;
    let metrics = Arc::new(Metrics::new());
    let health = Health::new(metrics.clone());
    let listener = TcpListener::bind(settings.listen).await;
    let listener = listener.with_context(|| format!("failed to listen on {}", settings.listen))?;
    tracing::info!(address = %listener.local_addr()?, version = env!("CARGO_PKG_VERSION"), "serves health and metrics");
    tokio::spawn(crate::health::serve(listener, health.clone()));

    let plain = client::plain(&config).context("failed to make a client")?;
    tokio::select! {
        () = wait_for_definitions(&plain, &health) => {}
        () = stop.asked() => return Ok(()),
    }
    let namespace = settings.namespace.clone().unwrap_or_else(|| config.default_namespace.clone());
    let lease = LeaseSettings {
        namespace: namespace.clone(),
        name: settings.lease_name.clone(),
        identity: identity(settings.pod_name.as_deref()),
        duration: Duration::from_secs(settings.lease_seconds.into()),
    };
    let (mut elector, leadership) = Elector::new(plain, lease);
    health.set(Phase::Standby);
    tokio::select! {
        () = elector.acquire() => {}
        () = stop.asked() => return Ok(()),
    }
    metrics.set_leading(true);
    health.set(Phase::Listing);
    let client = client::leading(&config, leadership, settings.watch_seconds).context("failed to make a client")?;
    let scope = if settings.all_namespaces { Scope::All } else { Scope::Namespace(namespace) };
    let work = Work::start(client, scope, settings, metrics.clone(), health.clone());

    let lost = tokio::select! {
        () = elector.hold() => true,
        () = stop.asked() => false,
    };
    health.set(Phase::Stopping);
    metrics.set_leading(false);
    if lost {
        // Requests under way end with the process; new ones are refused by the client already.
        bail!("lost the lease: another replica may work now");
    }
    tokio::select! {
        () = work.drain() => {}
        () = elector.hold() => bail!("lost the lease while draining"),
        () = stop.asked() => {}
    }
    elector.release().await;
    Ok(())
}

async fn wait_for_definitions(client: &Client, health: &Health) {
    while let Err(error) = definitions::check(client).await {
        tracing::warn!(%error, "waits for the definitions");
        health.set(Phase::Definitions { message: error.to_string() });
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// SIGTERM or SIGINT.
struct Stop {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

impl Stop {
    fn new() -> Result<Self> {
        let listen = |kind| signal(kind).context("failed to listen to signals");
        Ok(Self { terminate: listen(SignalKind::terminate())?, interrupt: listen(SignalKind::interrupt())? })
    }

    /// Returns at the next signal.
    async fn asked(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
        tracing::info!("asked to stop");
    }
}

fn log(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().init(),
    }
}

/// Watches and controllers under way.
struct Work {
    /// Feed the queues; their end ends the controllers once those have finished what runs.
    watches: JoinSet<()>,
    controllers: JoinSet<()>,
}

impl Work {
    fn start(client: Client, scope: Scope, settings: Settings, metrics: Arc<Metrics>, health: Health) -> Self {
        let (knowledge_bases, base_writer) = reflector::store();
        let (pipelines, pipeline_writer) = reflector::store();
        let (endpoints, endpoint_writer) = reflector::store();
        let stores = Stores { knowledge_bases, pipelines, endpoints };
        let (queue, requests): (Queue<ModelEndpoint>, Requests<ModelEndpoint>) = Queue::new();
        let watcher = watcher::Config::default().timeout(settings.watch_seconds);
        let start = Start { client: client.clone(), scope, watcher, metrics: metrics.clone() };
        let mut watches = JoinSet::new();

        watches.spawn(start.watch(base_writer, add_named::<KnowledgeBase>(queue.clone(), named_by_knowledge_base)));
        watches.spawn(start.watch(pipeline_writer, add_named::<AgentPipeline>(queue.clone(), named_by_pipeline)));
        watches.spawn(start.watch(endpoint_writer, move |endpoint: &Guarded<ModelEndpoint>| {
            queue.add(&endpoint.namespace().unwrap_or_default(), &endpoint.name_any());
        }));

        let reporter = Reporter { controller: MANAGER.to_owned(), instance: settings.pod_name.clone() };
        let recorder = Recorder::new(client.clone(), reporter);
        let context = Arc::new(Context { client, recorder, stores: stores.clone(), metrics, settings });
        let mut controllers = JoinSet::new();
        controllers.spawn(async move {
            // Users are counted from the copies, so all of them must be there before the first reconciliation.
            let ready = async {
                stores.knowledge_bases.wait_until_ready().await?;
                stores.pipelines.wait_until_ready().await?;
                stores.endpoints.wait_until_ready().await
            };
            if ready.await.is_err() {
                return;
            }
            health.set(Phase::Working);
            control(stores.endpoints, requests, context).await;
        });
        Self { watches, controllers }
    }

    /// Takes nothing new and waits for what runs, not for ever.
    async fn drain(mut self) {
        self.watches.shutdown().await;
        let finished = async { while self.controllers.join_next().await.is_some() {} };
        if tokio::time::timeout(DRAIN, finished).await.is_err() {
            tracing::warn!("reconciliations under way took too long and were dropped");
        }
        self.controllers.shutdown().await;
    }
}

/// What every watch is started with.
struct Start {
    client: Client,
    scope: Scope,
    watcher: watcher::Config,
    metrics: Arc<Metrics>,
}

impl Start {
    fn watch<K: Watched>(
        &self,
        writer: Writer<Guarded<K>>,
        touched: impl Fn(&Guarded<K>) + Send + 'static,
    ) -> impl Future<Output = ()> + Send + 'static {
        let Self { client, scope, watcher, metrics } = self;
        let (client, scope) = (client.clone(), scope.clone());
        let (watcher, metrics) = (watcher.clone(), metrics.clone());
        async move { watch(client, &scope, watcher, writer, metrics, touched).await }
    }
}

/// Adds what an object names to a queue.
fn add_named<K: Watched>(
    queue: Queue<ModelEndpoint>,
    named: impl Fn(&K) -> Vec<&str> + Send + 'static,
) -> impl Fn(&Guarded<K>) + Send + 'static {
    move |object| {
        let Ok(object) = &object.0 else { return };
        let namespace = object.namespace().unwrap_or_default();
        named(object).into_iter().for_each(|name| queue.add(&namespace, name));
    }
}
