use std::process::ExitCode;

use crate::cli::Global;

#[derive(Debug, clap::Args)]
pub(crate) struct ExtractArgs {}

pub(crate) async fn run(_args: ExtractArgs, _global: &Global) -> anyhow::Result<ExitCode> {
    anyhow::bail!("not built yet")
}
