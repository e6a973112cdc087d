//! `ingest --config`: one knowledge base that a file describes, brought up to date by a Job that leaves a report.

use futures::FutureExt;
use groundwork_config::{Ingestion, IngestionReport, collection_name, parse_collection_name, revision_id};
use groundwork_knowledge::sync::DeleteGuard;
use jiff::Timestamp;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use uuid::Uuid;

use super::IngestArgs;
use crate::cli::Global;
use crate::local::{OpenIngestion, read_rendered, signals};
use crate::output::progress::{Show, bars, show};
use crate::output::{self, Problem, Style, Table};

/// How long an ingestion may take to its next safe place after it was asked to end. It may be ended anywhere; a safe place
/// only loses less.
const PATIENCE: Duration = Duration::from_secs(10);

/// Reads the file, ingests, and leaves the report whatever happens.
pub(super) async fn run(file: &Path, args: &IngestArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let started = Timestamp::now();
    let ended = signals::first();
    let report = match read_rendered::<Ingestion>(file) {
        Ok(ingestion) => IngestionReport {
            config: ingestion.hash(),
            revision: revision_id(&ingestion.knowledge_base.contract),
            ..until(ended, &ingestion, args, global).await
        },
        Err(problem) => unread(file, &problem),
    };
    let (started_at, finished_at) = (started.to_string(), Timestamp::now().to_string());
    let report = IngestionReport { started_at, finished_at, ..report };
    let left = args.report.as_deref().map_or(Ok(()), |path| leave(&report, path));
    output::result(global.output, &report, || render(&report, output::stdout_style()))?;
    left?;
    match report.problem {
        None => Ok(ExitCode::SUCCESS),
        Some(problem) => Err(Problem::new("the ingestion is not complete").because(problem).into()),
    }
}

/// Ingests until it is done or asked to end.
async fn until(
    ended: impl Future<Output = ()>,
    ingestion: &Ingestion,
    args: &IngestArgs,
    global: &Global,
) -> IngestionReport {
    let cancel = CancellationToken::new();
    let work = AssertUnwindSafe(ingest(ingestion, args, global, &cancel)).catch_unwind();
    tokio::pin!(work);
    let done = tokio::select! {
        done = &mut work => done,
        () = ended => {
            cancel.cancel();
            signals::exit_at_the_next();
            let late = || Ok(failed("it was stopped; what it had written stays, and the next one goes on from there"));
            tokio::time::timeout(PATIENCE, work).await.unwrap_or_else(|_| late())
        }
    };
    done.unwrap_or_else(|_| failed("it hit a defect; its log has the details"))
}

async fn ingest(
    ingestion: &Ingestion,
    args: &IngestArgs,
    global: &Global,
    cancel: &CancellationToken,
) -> IngestionReport {
    let data = args.setup.data_dir.as_deref().unwrap_or(Path::new(""));
    let open = match cancel.run_until_cancelled(OpenIngestion::open(ingestion, data)).await {
        Some(Ok(open)) => open,
        Some(Err(problem)) => return failed(problem.line()),
        None => return failed("it was stopped before it began"),
    };
    let lines = if global.quiet { Show::Nothing } else { Show::Lines };
    let shown = show(lines, bars(), ingestion.knowledge_base.name.clone(), open.progress());
    let _shown = AbortOnDropHandle::new(tokio::spawn(shown));
    let deletes = if args.accept_deletes { DeleteGuard::Accepted } else { DeleteGuard::Enforced };
    let report = open.run(deletes, cancel).await;
    open.close().await;
    report
}

/// The report on a file that this version cannot read. Its JSON says all the same which configuration and which revision it
/// is of, so that whoever started this takes the report for its answer.
fn unread(file: &Path, problem: &Problem) -> IngestionReport {
    let json = std::fs::read(file).ok().and_then(|json| serde_json::from_slice::<Value>(&json).ok());
    let (config, revision) = json.as_ref().map(hashes).unwrap_or_default();
    IngestionReport { config, revision, ..failed(problem.line()) }
}

/// Hash of a configuration and id of its revision, whatever fields they have: both are hashes of JSON without space.
fn hashes(json: &Value) -> (String, String) {
    let contract = digest(&json["knowledgeBase"]["contract"].to_string());
    // A collection's name ends in the revision's id.
    let collection = collection_name(Uuid::nil(), &contract);
    let revision = parse_collection_name(&collection).map(|(_, revision)| revision.to_owned());
    (digest(&json.to_string()), revision.unwrap_or_default())
}

fn digest(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn failed(problem: impl Into<String>) -> IngestionReport {
    IngestionReport { problem: Some(problem.into()), ..IngestionReport::default() }
}

/// Writes the report into a file that may be there already: a container's termination log can be written, not replaced.
fn leave(report: &IngestionReport, path: &Path) -> Result<(), Problem> {
    std::fs::write(path, report.message())
        .map_err(|error| Problem::new(format!("failed to write the report to {}", path.display())).because(error))
}

fn render(report: &IngestionReport, style: Style) -> String {
    let state = if report.complete { style.bold("complete") } else { style.bad("not complete") };
    let mut text = format!("revision {}: {state}\n", report.revision);
    let mut table =
        Table::new(["documents", "chunks", "vectors", "added", "updated", "removed", "unchanged", "failed"]);
    let IngestionReport { documents, chunks, vectors, added, updated, removed, unchanged, failed, .. } = report;
    table
        .row([documents, chunks, vectors, added, updated, removed, unchanged, failed].map(|&one| output::grouped(one)));
    text.push_str(&table.render());
    for failure in &report.failures {
        text.push_str(&format!("{} {}: {}\n", style.bad("failed:"), failure.document, failure.reason));
    }
    for note in &report.notes {
        text.push_str(&format!("{} {note}\n", style.warn("note:")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_a_newer_version_still_says_what_it_is() {
        let config = groundwork_config::compile::default_for_folder(Path::new("/handbook"));
        let knowledge_base = config.knowledge_bases[0].clone();
        let ingestion = Ingestion { knowledge_base, endpoints: config.endpoints };
        let pretty = serde_json::to_string_pretty(&ingestion).unwrap();
        let expected = (ingestion.hash(), revision_id(&ingestion.knowledge_base.contract));
        assert_eq!(hashes(&serde_json::from_str(&pretty).unwrap()), expected);
    }

    #[test]
    fn a_report_is_written_over_what_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("termination-log");
        std::fs::write(&path, "x".repeat(10_000)).unwrap();
        let report = failed("the disk is full");
        leave(&report, &path).unwrap();
        assert_eq!(serde_json::from_slice::<IngestionReport>(&std::fs::read(&path).unwrap()).unwrap(), report);
        let error = leave(&report, &folder.path().join("none/log")).unwrap_err();
        assert!(error.line().contains("none/log"), "{error:?}");
    }
}
