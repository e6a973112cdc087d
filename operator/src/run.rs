//! Start to end of `groundwork-operator run`.

use anyhow::{Context as _, Result, bail};
use kube_client::{Client, Config};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

use crate::cli::{LogFormat, Settings};
use crate::health::{Health, Phase};
use crate::lease::{Elector, LeaseSettings, identity};
use crate::metrics::Metrics;
use crate::watch::Scope;
use crate::work::Work;
use crate::{client, definitions};

/// Between two looks at definitions that are missing or old.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

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
    let scope = if settings.all_namespaces { Scope::All } else { Scope::Namespace(namespace.clone()) };
    let work = Work::start(client, scope, namespace, settings, metrics.clone(), health.clone());

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
