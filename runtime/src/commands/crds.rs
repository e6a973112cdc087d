use std::process::ExitCode;

use crate::cli::Global;

#[derive(Debug, clap::Args)]
pub(crate) struct CrdsArgs {}

pub(crate) async fn run(_args: CrdsArgs, _global: &Global) -> anyhow::Result<ExitCode> {
    anyhow::bail!("not built yet")
}
