use groundwork_knowledge::sync::DeleteGuard;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use tokio::task::JoinSet;

use crate::cli::{Global, OutputFormat};
use crate::local::{self, Instance, Service, Setup, SetupArgs, Target, Vectors};
use crate::output::progress::{Show, bars, show};
use crate::output::{self, EXIT_FAILED_DOCUMENTS, Style, Table};
use crate::wire::{SyncReport, SyncRequest, SyncResponse};

mod rendered;

const EXAMPLES: &str = "\
Examples:
  groundwork ingest ~/documents
  groundwork ingest --keywords-only            searchable soon, vectors with the next run
  groundwork ingest -o json | jq '.reports[].failed'

A running `up` of the same folder does the work. Exit codes: 0 everything is in,
3 finished, but some documents could not be read, 1 failed. With --config a report
tells of such documents, and the exit code is 0.";

/// Failed documents that the table names; JSON and YAML have all.
const NAMED_FAILURES: usize = 20;

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct IngestArgs {
    #[command(flatten)]
    setup: SetupArgs,
    /// End when keywords are in; vectors are made by the next `ingest` or `up`.
    #[arg(long)]
    keywords_only: bool,
    /// Remove documents that are gone even if they are more than `maxDeletePercent` allows.
    #[arg(long)]
    accept_deletes: bool,
    /// Ingest the one knowledge base that this JSON file describes, as the operator writes it, instead of a folder.
    #[arg(
        long,
        value_name = "FILE",
        requires = "data_dir",
        conflicts_with_all = [
            "dir", "pipeline", "sources", "chat_model", "embedding_model", "api_key_file", "keywords_only",
        ],
        help_heading = "In a cluster"
    )]
    config: Option<PathBuf>,
    /// Write what it came to into this file, whatever it came to: JSON of at most 4096 bytes.
    #[arg(long, value_name = "FILE", requires = "config", help_heading = "In a cluster")]
    report: Option<PathBuf>,
}

pub(crate) async fn run(args: IngestArgs, global: &Global) -> anyhow::Result<ExitCode> {
    if let Some(file) = &args.config {
        return rendered::run(file, &args, global).await;
    }
    let target = local::open_for_writing(&args.setup, "ingest").await?;
    let reports = match target {
        Target::Remote(remote) => {
            let wait_for_vectors = !args.keywords_only;
            remote.sync(SyncRequest { accept_deletes: args.accept_deletes, wait_for_vectors }).await?.reports
        }
        Target::Local(instance, setup) => ingest(instance.as_ref(), &setup, &args, global).await?,
    };
    let failed = reports.iter().any(|report| !report.failed.is_empty());
    let response = SyncResponse { reports };
    output::result(global.output, &response, || {
        response.reports.iter().map(|report| render(report, output::stdout_style())).collect()
    })?;
    Ok(if failed { ExitCode::from(EXIT_FAILED_DOCUMENTS) } else { ExitCode::SUCCESS })
}

async fn ingest(
    instance: &Instance,
    setup: &Setup,
    args: &IngestArgs,
    global: &Global,
) -> anyhow::Result<Vec<SyncReport>> {
    let plain = !global.quiet && global.output == OutputFormat::Table;
    if plain {
        output::print(&setup.summary())?;
    }
    let bars = bars();
    let mut shown = JoinSet::new();
    for (name, progress) in instance.progress() {
        shown.spawn(show(Show::fitting(global.quiet), bars.clone(), name, progress));
    }
    let deletes = if args.accept_deletes { DeleteGuard::Accepted } else { DeleteGuard::Enforced };
    let vectors = if args.keywords_only { Vectors::Later } else { Vectors::Made };
    let work = instance.ingest(deletes, vectors);
    tokio::pin!(work);
    let outcome = tokio::select! {
        outcome = &mut work => outcome,
        () = local::signals::first() => {
            instance.stop();
            local::signals::exit_at_the_next();
            work.await
        }
    };
    shown.abort_all();
    while shown.join_next().await.is_some() {}
    let _ = bars.clear();
    instance.close().await;
    Ok(outcome?)
}

pub(crate) fn render(report: &SyncReport, style: Style) -> String {
    let time = output::duration(Duration::from_millis(report.elapsed_ms));
    let mut text = format!("{} {}\n", style.bold(&report.knowledge_base), style.dim(&format!("(keywords in {time})")));
    let mut table = Table::new(["added", "updated", "removed", "unchanged", "failed", "skipped", "chunks", "vectors"]);
    let skipped: u64 = report.skipped.values().sum();
    let vectors = report.embedded + report.reused;
    let numbers = [report.added, report.updated, report.removed, report.unchanged, report.failed.len() as u64];
    let [added, updated, removed, unchanged, failed] = numbers.map(output::grouped);
    let [skipped, chunks, vectors] = [skipped, report.chunks, vectors].map(output::grouped);
    table.row([added, updated, removed, unchanged, failed, skipped, chunks, vectors]);
    text.push_str(&table.render());
    if !report.skipped.is_empty() {
        text.push_str(&format!("skipped: {}\n", output::counts(&report.skipped)));
    }
    for failure in report.failed.iter().take(NAMED_FAILURES) {
        text.push_str(&format!("{} {}: {}\n", style.bad("failed:"), failure.document, failure.reason));
    }
    if report.failed.len() > NAMED_FAILURES {
        let more = output::count((report.failed.len() - NAMED_FAILURES) as u64, "more document");
        text.push_str(&format!("{} {more}; `-o json` names all\n", style.bad("failed:")));
    }
    for note in &report.notes {
        text.push_str(&format!("{} {note}\n", style.warn("note:")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::DocumentProblem;

    #[test]
    fn a_report_counts_and_names_what_failed() {
        let report = SyncReport {
            knowledge_base: "handbook".into(),
            elapsed_ms: 1_234,
            added: 12,
            unchanged: 1_000,
            failed: vec![DocumentProblem {
                document: "handbook/broken.pdf".into(),
                reason: "the file has no text".into(),
            }],
            skipped: [("binary".to_owned(), 2)].into(),
            chunks: 80,
            embedded: 80,
            notes: vec!["2 of 12 documents are gone".into()],
            ..SyncReport::default()
        };
        insta::assert_snapshot!(render(&report, Style::plain()));
    }
}
