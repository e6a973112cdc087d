//! What `store` does where there is a client of the server.

use groundwork_config::Ingestion;
use groundwork_knowledge::store::qdrant::FoundCollection;
use serde::Serialize;
use std::process::ExitCode;
use uuid::Uuid;

use super::{BaseArgs, StoreCommand};
use crate::cli::Global;
use crate::local::{OpenCollections, orphans, read_rendered};
use crate::output::{self, Problem, Table};

#[derive(Serialize)]
struct Provisioned {
    collection: String,
    revision: String,
}

#[derive(Serialize)]
struct Removed {
    /// Ids of the revisions that went, or would go.
    removed: Vec<String>,
    /// Ids of those that stay.
    kept: Vec<String>,
    dry_run: bool,
}

#[derive(Serialize)]
struct Orphans {
    collections: Vec<Orphan>,
}

#[derive(Serialize)]
struct Orphan {
    collection: String,
    data_id: Uuid,
    revision: String,
    documents: u64,
    chunks: u64,
}

/// Whether collections go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Remove,
    Look,
}

pub(super) async fn run(command: StoreCommand, global: &Global) -> anyhow::Result<ExitCode> {
    match command {
        StoreCommand::Provision(base) => provision(&base, global).await?,
        StoreCommand::Prune { base, keep, dry_run } => {
            let mode = if dry_run { Mode::Look } else { Mode::Remove };
            remove(&base, &keep, (mode, "store prune"), global).await?;
        }
        StoreCommand::Delete { yes: false, dry_run: false, .. } => {
            return Err(Problem::new("every collection of the knowledge base would be removed")
                .fix("look at them with --dry-run, remove them with --yes")
                .into());
        }
        StoreCommand::Delete { base, dry_run, .. } => {
            let mode = if dry_run { Mode::Look } else { Mode::Remove };
            remove(&base, &[], (mode, "store delete"), global).await?;
        }
        StoreCommand::Orphans { url, api_key_file, known } => {
            let found = orphans(&url, api_key_file.as_deref(), &known).await?;
            let collections = found.into_iter().map(Orphan::from).collect();
            let orphans = Orphans { collections };
            output::result(global.output, &orphans, || table(&orphans))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn open(base: &BaseArgs, command: &str) -> Result<OpenCollections, Problem> {
    OpenCollections::open(read_rendered::<Ingestion>(&base.config)?, &base.data_dir, command).await
}

async fn provision(base: &BaseArgs, global: &Global) -> anyhow::Result<()> {
    let open = open(base, "store provision").await?;
    let provisioned = open.provision().await;
    open.close().await;
    let revision = provisioned?;
    let id = groundwork_config::revision_id(&revision.contract);
    let provisioned = Provisioned { collection: revision.collection, revision: id };
    output::result(global.output, &provisioned, || {
        format!("revision {} is kept in the collection {}\n", provisioned.revision, provisioned.collection)
    })
}

async fn remove(
    base: &BaseArgs,
    keep: &[String],
    (mode, command): (Mode, &str),
    global: &Global,
) -> anyhow::Result<()> {
    let open = open(base, command).await?;
    let work = async {
        let (kept, removed): (Vec<_>, Vec<_>) =
            open.revisions().await?.into_iter().partition(|revision| keep.contains(revision));
        if mode == Mode::Remove {
            open.remove(&removed).await?;
        }
        Ok::<_, Problem>(Removed { removed, kept, dry_run: mode == Mode::Look })
    };
    let removed = work.await;
    open.close().await;
    let removed = removed?;
    output::result(global.output, &removed, || {
        let verb = if mode == Mode::Look { "would go" } else { "removed" };
        let line = |word: &str, ids: &[String]| {
            format!("{word}: {}\n", if ids.is_empty() { "none".into() } else { ids.join(", ") })
        };
        line(verb, &removed.removed) + &line("kept", &removed.kept)
    })
}

impl From<FoundCollection> for Orphan {
    fn from(found: FoundCollection) -> Self {
        let FoundCollection { collection, data_id, revision, documents, chunks } = found;
        Self { collection, data_id, revision, documents, chunks }
    }
}

fn table(orphans: &Orphans) -> String {
    if orphans.collections.is_empty() {
        return "no collection is an orphan\n".to_owned();
    }
    let mut table = Table::new(["collection", "data id", "revision", "documents", "chunks"]);
    for orphan in &orphans.collections {
        let counts = [orphan.documents, orphan.chunks].map(output::grouped);
        let [documents, chunks] = counts;
        table.row([orphan.collection.clone(), orphan.data_id.to_string(), orphan.revision.clone(), documents, chunks]);
    }
    table.render()
}
