//! The control plane of Groundwork: manifests become running knowledge bases and pipelines.
//!
//! The operator speaks only to the API server. Each kind has a folder with the steps of its reconciliation as files:
//! `observe` reads, `validate` finds the mistakes of people, `desired` says what must be there, `apply` is the only
//! writer, `status` says what came of it. A kind that owns no objects has no `desired` and no `apply`.

mod backoff;
mod capacity;
mod cli;
mod client;
mod conditions;
mod context;
mod controller;
mod definitions;
mod ensure;
#[cfg(test)]
mod fields;
mod health;
mod knowledge_base;
mod lease;
mod metrics;
mod model_endpoint;
mod names;
mod network;
mod pipeline;
mod pods;
mod report;
mod routes;
mod run;
mod secrets;
mod tool_policy;
mod users;
mod verdict;
mod watch;
mod work;

use clap::Parser;

fn main() -> anyhow::Result<()> {
    cli::Cli::parse().execute()
}
