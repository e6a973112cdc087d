//! The control plane of Groundwork. So far it prints the definitions of its API; it does not reconcile anything yet.

use clap::{Parser, Subcommand};
use std::io::Write;

/// The control plane of Groundwork. It can print its API; reconciling is not built yet.
#[derive(Debug, Parser)]
#[command(name = "groundwork-operator", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print the custom resource definitions as YAML, ready for `kubectl apply -f -`.
    Crds,
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().command {
        Command::Crds => print_definitions(),
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
