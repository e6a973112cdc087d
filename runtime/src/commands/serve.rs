use groundwork_config::{Authentication, Serving, revision_id};
use serde::Serialize;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::cli::{Global, OutputFormat};
use crate::http::{self, Access, App, Health, Limits};
use crate::live::{Keys, PolicyInForce, Reread};
use crate::local::{Instance, read_rendered, signals};
use crate::output::{self, Problem};

/// How often keys are read again.
const KEYS: Duration = Duration::from_secs(2);
/// How often knowledge bases are looked at that answer.
const LOOK: Duration = Duration::from_secs(10);
/// How often those are that do not.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

const EXAMPLES: &str = "\
Examples:
  groundwork serve --config serving.json
  groundwork serve --config serving.json --policy policy.json --listen 0.0.0.0:8080

SIGTERM ends in order: /readyz turns 503, what is under way is answered, then the exit code is 0.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ServeArgs {
    /// What is served: JSON as the operator writes it.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// The policy, instead of that in the configuration; read again when it changes. While it cannot be read, every
    /// question is refused.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Address for questions.
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:8080")]
    listen: SocketAddr,
    /// Address for health and metrics.
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:8081")]
    health_listen: SocketAddr,
}

pub(crate) async fn run(args: ServeArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let ended = signals::first();
    let serving = read_rendered::<Serving>(&args.config)?;
    let policy = Arc::new(match args.policy {
        Some(file) => PolicyInForce::of_file(file),
        None => PolicyInForce::fixed(serving.config.policy.clone()),
    });
    let access = access(&serving.authentication);
    let instance = Arc::new(Instance::pinned(&serving, Arc::clone(&policy)).await?);
    let (api, health_port) = (bind(args.listen).await?, bind(args.health_listen).await?);
    say(&api, &health_port, global)?;

    let health = Arc::new(health(&serving));
    let _following = follow(&instance, &health, (&policy, &access));
    let app = App::new(Arc::clone(&instance) as _, api.local_addr()?, (access, policy), Limits::default());
    let (shutdown, drained) = (CancellationToken::new(), CancellationToken::new());
    let mut answering = tokio::spawn(http::serve_api(Arc::clone(&app), api, shutdown.clone()));
    let mut checked = tokio::spawn(http::serve_health(app, health, health_port, drained.clone()));
    tokio::select! {
        () = ended => {}
        early = &mut answering => return Err(broken(early)),
        early = &mut checked => return Err(broken(early)),
    }
    signals::exit_at_the_next();
    shutdown.cancel();
    answering.await??;
    drained.cancel();
    checked.await??;
    instance.close().await;
    Ok(ExitCode::SUCCESS)
}

/// A server that ended although nobody asked it to.
fn broken(ended: Result<std::io::Result<()>, tokio::task::JoinError>) -> anyhow::Error {
    let problem = Problem::new("a server ended by itself");
    match ended {
        Ok(Err(error)) => problem.because(error).into(),
        Err(error) => problem.because(error).into(),
        Ok(Ok(())) => problem.into(),
    }
}

fn access(authentication: &Authentication) -> Access {
    match authentication {
        Authentication::None => Access::Anybody,
        Authentication::ApiKeys { folder } => {
            let folder = folder.clone();
            Access::Keys(Arc::new(Reread::new("keys", move || Keys::read(&folder))))
        }
    }
}

fn health(serving: &Serving) -> Health {
    let revisions = serving.revisions.iter().map(|(name, revision)| (name.clone(), revision_id(&revision.contract)));
    Health::new(serving.hash(), revisions.collect())
}

/// Looks at the knowledge bases, the policy and the keys until it is dropped.
fn follow(
    instance: &Arc<Instance>,
    health: &Arc<Health>,
    (policy, access): (&Arc<PolicyInForce>, &Access),
) -> JoinSet<()> {
    let mut following = JoinSet::new();
    let (instance, health, policy) = (Arc::clone(instance), Arc::clone(health), Arc::clone(policy));
    following.spawn(async move {
        loop {
            health.took(instance.look().await);
            tokio::time::sleep(if health.settled() { LOOK } else { LOOK_AGAIN }).await;
        }
    });
    following.spawn(async move { policy.follow().await });
    if let Access::Keys(keys) = access {
        following.spawn(Arc::clone(keys).follow(KEYS));
    }
    following
}

async fn bind(address: SocketAddr) -> Result<TcpListener, Problem> {
    TcpListener::bind(address)
        .await
        .map_err(|error| Problem::new(format!("failed to listen on {address}")).because(error))
}

#[derive(Serialize)]
struct Listening {
    url: String,
    health_url: String,
}

/// Where it answers.
fn say(api: &TcpListener, health: &TcpListener, global: &Global) -> anyhow::Result<()> {
    let url = |listener: &TcpListener| listener.local_addr().map(|address| format!("http://{address}"));
    let listening = Listening { url: url(api)?, health_url: url(health)? };
    if global.quiet && global.output == OutputFormat::Table {
        return Ok(());
    }
    output::result(global.output, &listening, || {
        format!("questions: {}\nhealth: {}\n", listening.url, listening.health_url)
    })
}
