//! `groundwork`: the data plane and the command line.

mod cli;
mod commands;
mod evaluation;
mod http;
mod local;
mod manifests;
mod output;
mod wire;

use clap::Parser;
use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    rustls::crypto::ring::default_provider().install_default().expect("no provider was installed before main");
    cli::run(cli::Cli::parse()).await
}
