//! `groundwork`: the data plane and the command line.

mod cli;
mod commands;
mod evaluation;
mod http;
mod json;
mod live;
mod local;
mod manifests;
mod output;
mod wire;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    rustls::crypto::ring::default_provider().install_default().expect("no provider was installed before main");
    let cli = cli::Cli::parse();
    output::logging(&cli.global);
    // Each worker thread may reserve 64 MB of address space, which is what an extraction process has little of.
    let mut runtime = match cli.command {
        cli::Command::Extract(_) => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    runtime.enable_all().build().expect("the operating system has threads and a poll queue").block_on(cli::run(cli))
}
