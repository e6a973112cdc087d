use groundwork_knowledge::sync::DeleteGuard;
use serde::Serialize;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::cli::{Global, OutputFormat};
use crate::http::BindError;
use crate::local::{self, Follow, Instance, ServiceError, Setup, SetupArgs, signals};
use crate::output::progress::{Show, bars, show};
use crate::output::{self, Problem};

mod events;

use events::Ready;

const DEFAULT_PORT: u16 = 7377;

const EXAMPLES: &str = "\
Examples:
  groundwork up                                 serve the folder you are in
  groundwork up ~/documents --port 8080
  groundwork up --chat-model ollama/qwen3:4b    let a local model write the answers
  groundwork up --source handbook=./handbook    where a manifest's source lies

The address is loopback only. Ctrl-C ends in order; a second one at once.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct UpArgs {
    #[command(flatten)]
    setup: SetupArgs,
    /// Port on 127.0.0.1; 0 takes a free one. Without this flag it is 7377, or a free one where that is taken.
    #[arg(long)]
    port: Option<u16>,
    /// Do not watch the folder: sync once, and when `POST /v1/sync` or `groundwork ingest` asks.
    #[arg(long)]
    no_watch: bool,
    /// Let the first sync remove documents that are gone even if they are more than `maxDeletePercent` allows.
    #[arg(long)]
    accept_deletes: bool,
}

pub(crate) async fn run(args: UpArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let (setup, lock, mut holder) = local::claim(&args.setup, "up").await?;
    let listener = listen(args.port).await?;
    let url = format!("http://{}", listener.local_addr()?);
    let instance = Arc::new(local::open_claimed(&setup, lock).await?);
    holder.url = Some(url.clone());
    instance.announce(&holder)?;

    let shutdown = CancellationToken::new();
    let server =
        tokio::spawn(crate::http::serve(instance.policy(), Arc::clone(&instance) as _, listener, shutdown.clone()));
    begin(&setup, &url, global).await?;
    let mut shown = show_progress(&instance, &url, global).await?;
    let mut work = tokio::spawn(follow(Arc::clone(&instance), &args));
    let failed = tokio::select! {
        () = signals::first() => None,
        ended = &mut work => Some(ended),
    };
    signals::exit_at_the_next();
    if failed.is_none() {
        say(global, "ending: what is under way is answered first (once more Ctrl-C ends at once)")?;
    }
    shutdown.cancel();
    instance.stop();
    server.await??;
    let ended = match failed {
        Some(ended) => ended,
        None => work.await,
    };
    shown.shutdown().await;
    instance.close().await;
    ended??;
    Ok(ExitCode::SUCCESS)
}

fn follow(instance: Arc<Instance>, args: &UpArgs) -> impl Future<Output = Result<(), ServiceError>> + use<> {
    let follow = if args.no_watch { Follow::Once } else { Follow::Changes };
    let deletes = if args.accept_deletes { DeleteGuard::Accepted } else { DeleteGuard::Enforced };
    async move { instance.follow(follow, deletes).await }
}

/// A loopback listener: on the port that was asked for, or on the default one, or on a free one.
async fn listen(port: Option<u16>) -> Result<TcpListener, Problem> {
    let bind = |port| crate::http::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    let bound = match port {
        Some(port) => bind(port).await,
        None => match bind(DEFAULT_PORT).await {
            Err(BindError::InUse(_)) => bind(0).await,
            other => other,
        },
    };
    bound.map_err(|error| Problem::new("failed to start the server").because(error))
}

#[derive(Serialize)]
struct Serving<'a> {
    url: &'a str,
    folder: PathBuf,
    data_folder: PathBuf,
    pid: u32,
}

/// The first lines: what is served and from where. With `-o json` or `yaml`, standard output has the address alone.
async fn begin(setup: &Setup, url: &str, global: &Global) -> anyhow::Result<()> {
    if global.output != OutputFormat::Table {
        let (folder, data_folder) = (setup.folder.clone(), setup.data.path().to_owned());
        return output::result(
            global.output,
            &Serving { url, folder, data_folder, pid: std::process::id() },
            String::new,
        );
    }
    if global.quiet {
        return output::print(&format!("{url}\n"));
    }
    output::print(&setup.summary())?;
    if setup.config.pipeline.chat.is_none()
        && let Some(model) = local::ollama_model().await
    {
        say(global, &format!("Ollama answers here; to let it write the answers: {}", setup.command_with_chat(&model)))?;
    }
    Ok(())
}

fn say(global: &Global, line: &str) -> anyhow::Result<()> {
    if global.quiet || global.output != OutputFormat::Table { Ok(()) } else { output::print(&format!("{line}\n")) }
}

async fn show_progress(instance: &Instance, url: &str, global: &Global) -> anyhow::Result<JoinSet<()>> {
    let bars = bars();
    let mut shown = JoinSet::new();
    let plain = !global.quiet && global.output == OutputFormat::Table;
    let line = format!("ready: {url}");
    let ready_now = instance.is_ready().await;
    if ready_now {
        say(global, &line)?;
    }
    let ready = Ready::new(instance.progress().len(), (!ready_now).then_some(line));
    for (name, progress) in instance.progress() {
        shown.spawn(show(Show::fitting(global.quiet), bars.clone(), name.clone(), progress.clone()));
        if plain {
            shown.spawn(events::print(bars.clone(), name, progress, Arc::clone(&ready)));
        }
    }
    Ok(shown)
}
