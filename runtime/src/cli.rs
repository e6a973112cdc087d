//! The command line's grammar. What a command does lies in `commands`, one file each.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::process::ExitCode;

use crate::commands;

/// Ask your documents, with checked citations. No cluster, no key, no network needed.
#[derive(Debug, Parser)]
#[command(name = "groundwork", version, propagate_version = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags that every command has.
#[derive(Clone, Debug, Args)]
pub(crate) struct Global {
    /// Form of the output.
    #[arg(short, long, global = true, value_enum, default_value_t = OutputFormat::Table)]
    pub(crate) output: OutputFormat,
    /// Print results and errors only.
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Print more about what happens; twice for even more.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// Forms of output. Field names in JSON and YAML are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    Table,
    Json,
    Yaml,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve a folder: ingest it, watch it, answer questions on a local address.
    Up(commands::up::UpArgs),
    /// Write manifests that say what `up` would do.
    Init(commands::init::InitArgs),
    /// Bring the index of a folder up to date and end.
    Ingest(commands::ingest::IngestArgs),
    /// Ask a question.
    Ask(commands::ask::AskArgs),
    /// Search without answering, with each arm's ranks and scores.
    Search(commands::search::SearchArgs),
    /// Measure retrieval and answers on a data set.
    Eval(commands::eval::EvalArgs),
    /// Check manifests offline: schema and rules.
    Validate(commands::validate::ValidateArgs),
    /// Print the custom resource definitions.
    Crds(commands::crds::CrdsArgs),
    /// Extract documents sent on standard input (started by `groundwork` itself).
    #[command(hide = true)]
    Extract(commands::extract::ExtractArgs),
}

/// Runs the command; the exit code is documented in `docs/cli.md`.
pub(crate) async fn run(cli: Cli) -> ExitCode {
    let Cli { global, command } = cli;
    let result = match command {
        Command::Up(args) => commands::up::run(args, &global).await,
        Command::Init(args) => commands::init::run(args, &global).await,
        Command::Ingest(args) => commands::ingest::run(args, &global).await,
        Command::Ask(args) => commands::ask::run(args, &global).await,
        Command::Search(args) => commands::search::run(args, &global).await,
        Command::Eval(args) => commands::eval::run(args, &global).await,
        Command::Validate(args) => commands::validate::run(args, &global).await,
        Command::Crds(args) => commands::crds::run(args, &global).await,
        Command::Extract(args) => commands::extract::run(args, &global).await,
    };
    result.unwrap_or_else(|error| crate::output::failure(&error))
}
