use std::process::ExitCode;

use crate::cli::Global;

#[derive(Debug, clap::Args)]
pub(crate) struct IngestArgs {}

pub(crate) async fn run(_args: IngestArgs, _global: &Global) -> anyhow::Result<ExitCode> {
    anyhow::bail!("not built yet")
}
