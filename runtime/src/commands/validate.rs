use std::process::ExitCode;

use crate::cli::Global;

#[derive(Debug, clap::Args)]
pub(crate) struct ValidateArgs {}

pub(crate) async fn run(_args: ValidateArgs, _global: &Global) -> anyhow::Result<ExitCode> {
    anyhow::bail!("not built yet")
}
