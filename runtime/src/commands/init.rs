use std::process::ExitCode;

use crate::cli::Global;

#[derive(Debug, clap::Args)]
pub(crate) struct InitArgs {}

pub(crate) async fn run(_args: InitArgs, _global: &Global) -> anyhow::Result<ExitCode> {
    anyhow::bail!("not built yet")
}
