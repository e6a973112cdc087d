use std::path::PathBuf;
use std::process::ExitCode;
use uuid::Uuid;

use crate::cli::Global;

#[cfg(feature = "qdrant")]
mod work;

const EXAMPLES: &str = "\
Examples:
  groundwork store provision --config ingestion.json --data-dir /data
  groundwork store prune --config ingestion.json --data-dir /data --keep 3f9a0c1d2e4b5a67 --dry-run
  groundwork store orphans --url http://qdrant:6334 --known 0f6c1f1e-6b0a-4a3b-8f0e-2a8b1d5c7e90

A revision of a knowledge base in Qdrant is a collection; its id is in the report of `ingest --config`.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
#[cfg_attr(not(feature = "qdrant"), allow(dead_code, reason = "such a build only explains itself"))]
pub(crate) struct StoreArgs {
    #[command(subcommand)]
    command: StoreCommand,
}

#[derive(Debug, clap::Subcommand)]
#[cfg_attr(not(feature = "qdrant"), allow(dead_code, reason = "such a build only explains itself"))]
enum StoreCommand {
    /// Make the collection of the knowledge base's revision where it is missing.
    Provision(BaseArgs),
    /// Remove every collection of the knowledge base but those of some revisions.
    Prune {
        #[command(flatten)]
        base: BaseArgs,
        /// A revision that stays; repeat it for more.
        #[arg(long, value_name = "REVISION", required = true, value_parser = revision)]
        keep: Vec<String>,
        /// Only say what would go.
        #[arg(long)]
        dry_run: bool,
    },
    /// Remove every collection of the knowledge base.
    Delete {
        #[command(flatten)]
        base: BaseArgs,
        /// Only say what would go.
        #[arg(long)]
        dry_run: bool,
        /// Do it: nothing brings the collections back but another ingestion.
        #[arg(long, conflicts_with = "dry_run")]
        yes: bool,
    },
    /// List collections of knowledge bases that nobody knows.
    Orphans {
        /// Address of the server's gRPC service.
        #[arg(long, value_name = "URL")]
        url: String,
        /// File with the key.
        #[arg(long, value_name = "FILE")]
        api_key_file: Option<PathBuf>,
        /// Data id of a knowledge base that there is; repeat it for more.
        #[arg(long, value_name = "DATA_ID")]
        known: Vec<Uuid>,
    },
}

/// Which knowledge base.
#[derive(Debug, clap::Args)]
#[cfg_attr(not(feature = "qdrant"), allow(dead_code, reason = "such a build only explains itself"))]
struct BaseArgs {
    /// The file that `ingest --config` reads.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// The folder with the state of its ingestions.
    #[arg(long, value_name = "DIR", env = "GROUNDWORK_DATA_DIR")]
    data_dir: PathBuf,
}

/// An id with a typing mistake would keep nothing.
fn revision(text: &str) -> Result<String, String> {
    let digits = text.len() == 16 && text.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    if digits { Ok(text.to_owned()) } else { Err("a revision's id is 16 digits of 0-9a-f, as in a report".to_owned()) }
}

pub(crate) async fn run(args: StoreArgs, global: &Global) -> anyhow::Result<ExitCode> {
    #[cfg(feature = "qdrant")]
    return work::run(args.command, global).await;
    #[cfg(not(feature = "qdrant"))]
    {
        let _ = (args, global);
        Err(crate::output::Problem::new("this build has no client of Qdrant")
            .fix("build it with --features qdrant")
            .into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_is_sixteen_digits() {
        assert_eq!(revision("3f9a0c1d2e4b5a67"), Ok("3f9a0c1d2e4b5a67".to_owned()));
        for wrong in ["", "3f9a", "3F9A0C1D2E4B5A67", "3f9a0c1d2e4b5a670", "zf9a0c1d2e4b5a67"] {
            assert!(revision(wrong).is_err(), "{wrong}");
        }
    }
}
