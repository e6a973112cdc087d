//! The command line's grammar. What a command does lies in `commands`, one file each.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::process::ExitCode;

use crate::commands;

const EXAMPLES: &str = "\
Examples:
  groundwork up ~/documents                 serve a folder on http://127.0.0.1:7377
  groundwork ask \"What is the late fee?\"    ask it, from inside the folder
  groundwork search --explain \"late fee\"    see how passages were found
  groundwork ingest -o json | jq .reports   bring the index up to date in a script

Exit codes: 0 done or answered, 1 failed, 2 wrong usage, 3 ingested but not every document,
4 related passages only, 5 not found in the documents, 130 ended by a second signal.";

/// Ask your documents, with checked citations. No cluster, no key, no network needed.
#[derive(Debug, Parser)]
#[command(name = "groundwork", version, propagate_version = true, after_help = EXAMPLES)]
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
    /// Answer from knowledge bases in Qdrant, as a pod of a cluster.
    Serve(commands::serve::ServeArgs),
    /// Print a fresh key for a caller of `serve`, and its hash.
    ApiKey(commands::api_key::ApiKeyArgs),
    /// Look after the collections of knowledge bases in Qdrant.
    Store(commands::store::StoreArgs),
    /// Measure retrieval and answers on a data set.
    Eval(commands::eval::EvalArgs),
    /// Check manifests offline: schema and rules.
    Validate(commands::validate::ValidateArgs),
    /// Print the custom resource definitions.
    Crds(commands::crds::CrdsArgs),
    /// Print a completion script for a shell.
    Completions(commands::completions::CompletionsArgs),
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
        Command::Serve(args) => commands::serve::run(args, &global).await,
        Command::ApiKey(args) => commands::api_key::run(args, &global),
        Command::Store(args) => commands::store::run(args, &global).await,
        Command::Eval(args) => commands::eval::run(args, &global).await,
        Command::Validate(args) => commands::validate::run(args, &global).await,
        Command::Crds(args) => commands::crds::run(args, &global).await,
        Command::Completions(args) => commands::completions::run(args),
        Command::Extract(args) => commands::extract::run(args, &global).await,
    };
    result.unwrap_or_else(|error| crate::output::failure(&error))
}

/// Which ingested documents a command means.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct PlaceArgs {
    /// Folder whose documents are meant; where left out, the nearest ingested one from here upwards.
    #[arg(long, value_name = "DIR", help_heading = "Which documents")]
    pub(crate) dir: Option<std::path::PathBuf>,
    /// Data folder of the index, where it was named at `up` or `ingest`.
    #[arg(long, value_name = "DIR", env = "GROUNDWORK_DATA_DIR", help_heading = "Which documents")]
    pub(crate) data_dir: Option<std::path::PathBuf>,
    /// Address of a running `up`.
    #[arg(long, value_name = "URL", conflicts_with = "dir", help_heading = "Which documents")]
    pub(crate) url: Option<String>,
}

/// Which documents may be found.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct FilterArgs {
    /// Glob on `source/path`; repeat it for more.
    #[arg(long = "path", value_name = "GLOB", help_heading = "Filters")]
    pub(crate) paths: Vec<String>,
    /// Tag; repeat it for more.
    #[arg(long = "tag", value_name = "TAG", help_heading = "Filters")]
    pub(crate) tags: Vec<String>,
    /// Documents dated on this day or later (YYYY-MM-DD).
    #[arg(long, value_name = "DAY", help_heading = "Filters")]
    pub(crate) from: Option<String>,
    /// Documents dated on this day or earlier (YYYY-MM-DD).
    #[arg(long, value_name = "DAY", help_heading = "Filters")]
    pub(crate) until: Option<String>,
}

impl From<FilterArgs> for crate::wire::FilterSpec {
    fn from(args: FilterArgs) -> Self {
        Self { paths: args.paths, tags: args.tags, from: args.from, until: args.until }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_grammar_is_consistent() {
        Cli::command().debug_assert();
    }
}
