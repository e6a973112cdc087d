use clap::{Args, Parser, Subcommand, ValueEnum};
use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

/// The control plane of Groundwork: reconciles its manifests in a Kubernetes cluster.
#[derive(Debug, Parser)]
#[command(name = "groundwork-operator", version, propagate_version = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Reconcile until SIGTERM. Talks to the cluster of KUBECONFIG, ~/.kube/config or the pod it runs in.
    Run(Box<Settings>),
    /// Print the custom resource definitions as YAML, ready for `kubectl apply --server-side -f -`.
    Crds,
}

/// How the operator runs.
#[derive(Args, Clone, Debug)]
pub(crate) struct Settings {
    /// Namespace to watch, and the one of the lease.
    ///
    /// Default: the namespace of the pod or of the kubeconfig's context.
    #[arg(long, env = "GROUNDWORK_NAMESPACE")]
    pub(crate) namespace: Option<String>,

    /// Watch all namespaces. Needs a ClusterRole; the operator can then read every Secret of the cluster.
    #[arg(long, env = "GROUNDWORK_ALL_NAMESPACES")]
    pub(crate) all_namespaces: bool,

    /// Address of /healthz, /readyz and /metrics.
    #[arg(long, env = "GROUNDWORK_LISTEN", default_value = "0.0.0.0:8080")]
    pub(crate) listen: SocketAddr,

    /// Name of this replica in the lease.
    ///
    /// Default: the host's name.
    #[arg(long, env = "GROUNDWORK_POD_NAME")]
    pub(crate) pod_name: Option<String>,

    /// Name of the lease that decides which replica works.
    #[arg(long, default_value = "groundwork-operator")]
    pub(crate) lease_name: String,

    /// Seconds after which another replica takes over from one that is silent. It stops by itself after two thirds.
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u16).range(3..=3600))]
    pub(crate) lease_seconds: u16,

    /// Objects of a kind reconciled at a time.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) concurrency: u16,

    /// Seconds after which a watch is begun anew. One that is silent is given up 5 s later.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(5..=290))]
    pub(crate) watch_seconds: u32,

    /// Seconds between two looks for a Secret that is missing. Secrets are never listed or watched.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) missing_secret_seconds: u64,

    /// Seconds between two looks at a Secret that was found.
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=86400))]
    pub(crate) found_secret_seconds: u64,

    /// Image of the pods that ingest and serve, where a manifest names none.
    #[arg(long, env = "GROUNDWORK_RUNTIME_IMAGE", default_value = concat!("groundwork:", env!("CARGO_PKG_VERSION")))]
    pub(crate) runtime_image: String,

    /// Namespaces whose pods may read the metrics of pods that answer; repeat it for more.
    #[arg(long = "metrics-from-namespace", value_name = "NAMESPACE")]
    pub(crate) metrics_from: Vec<String>,

    /// Ingestions at a time, in all.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub(crate) max_ingestions: u16,

    /// Ingestions at a time in a namespace.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub(crate) max_ingestions_per_namespace: u16,

    /// Seconds until an ingestion that failed is tried again; they double with each failure, up to an hour.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub(crate) ingestion_retry_seconds: u32,

    /// Form of the log.
    #[arg(long, env = "GROUNDWORK_LOG_FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub(crate) log_format: LogFormat,
}

/// Form of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// A line for people.
    Text,
    /// A JSON object a line.
    Json,
}

impl Settings {
    /// How often a Secret is looked for.
    pub(crate) fn secret_interval(&self, found: bool) -> Duration {
        Duration::from_secs(if found { self.found_secret_seconds } else { self.missing_secret_seconds })
    }
}

impl Cli {
    pub(crate) fn execute(self) -> anyhow::Result<()> {
        match self.command {
            Command::Run(settings) => crate::run::run(*settings),
            Command::Crds => print_definitions(),
        }
    }
}

fn print_definitions() -> anyhow::Result<()> {
    let documents: Vec<String> = groundwork_crds::definitions().iter().map(|definition| definition.yaml()).collect();
    match std::io::stdout().write_all(documents.join("---\n").as_bytes()) {
        // The reader of a pipe may stop early.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}
