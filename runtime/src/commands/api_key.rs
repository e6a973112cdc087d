use serde::Serialize;
use std::process::ExitCode;

use crate::cli::Global;
use crate::live::{hash, new_key};
use crate::output;

const EXAMPLES: &str = "\
Examples:
  groundwork api-key
  groundwork api-key -o json | jq -r .hash >> keys/alice

The caller gets the key and sends it as `Authorization: Bearer KEY`. The hash is a line of the caller's entry in the
Secret of keys; nobody can find the key from it.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ApiKeyArgs {}

#[derive(Serialize)]
struct NewKey {
    key: String,
    hash: String,
}

pub(crate) fn run(_: ApiKeyArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let key = new_key()?;
    let made = NewKey { hash: hash(&key), key };
    output::result(global.output, &made, || format!("key:  {}\nhash: {}\n", made.key, made.hash))?;
    Ok(ExitCode::SUCCESS)
}
