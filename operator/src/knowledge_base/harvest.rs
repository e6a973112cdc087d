//! What a finished Job says. Pure.

use groundwork_config::IngestionReport;
use groundwork_crds::{DocumentFailure, KnowledgeBaseStatus, LastRun, LastSync, RunOutcome};
use jiff::Timestamp;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ContainerStateTerminated, Pod};
use kube_client::ResourceExt;

use crate::names::{ACCEPT_DELETES, CONFIG_HASH, REVISION, SYNC_REQUESTED_AT};

/// Failures that the status names.
const NAMED: usize = 5;
/// Longest message in the status, in characters.
const MESSAGE: usize = 1024;

/// The status with what the Job did. `wanted` is the revision that the spec asks for now: only that one, or the one that is
/// read already, may become the active one.
pub(super) fn record(
    before: &KnowledgeBaseStatus,
    job: &Job,
    pods: &[Pod],
    wanted: &str,
    now: Timestamp,
) -> KnowledgeBaseStatus {
    let mut status = before.clone();
    let annotation = |name: &str| job.annotations().get(name).cloned();
    let revision = annotation(REVISION).unwrap_or_default();
    let config_hash = annotation(CONFIG_HASH).unwrap_or_default();
    let report = report(pods).filter(|report| report.revision == revision && report.config == config_hash);
    let (outcome, message) = outcome(job, pods, report.as_ref());
    let earlier = before.last_run.as_ref().map_or(0, |run| run.failures);
    status.last_run = Some(LastRun {
        job: job.uid().unwrap_or_default(),
        outcome,
        finished_at: now.to_string(),
        message: message.chars().take(MESSAGE).collect(),
        failures: if outcome == RunOutcome::Complete { 0 } else { earlier.saturating_add(1) },
        revision: revision.clone(),
        config_hash: config_hash.clone(),
        sync_requested_at: annotation(SYNC_REQUESTED_AT),
        accept_deletes: annotation(ACCEPT_DELETES),
    });
    let Some(report) = report.filter(|_| outcome == RunOutcome::Complete) else { return status };
    let active = status.active_revision.as_deref();
    if active != Some(&revision) && revision != wanted && active.is_some() {
        return status;
    }
    status.documents = Some(signed(report.documents));
    status.chunks = Some(signed(report.chunks));
    status.failed_documents = Some(signed(report.failed));
    let failure = |failure: &groundwork_config::FailedDocument| DocumentFailure {
        document: failure.document.clone(),
        reason: failure.reason.clone(),
    };
    status.failures = report.failures.iter().take(NAMED).map(failure).collect();
    status.last_sync = Some(LastSync {
        revision: revision.clone(),
        config_hash,
        started_at: report.started_at.clone(),
        finished_at: report.finished_at.clone(),
        added: signed(report.added),
        updated: signed(report.updated),
        removed: signed(report.removed),
        unchanged: signed(report.unchanged),
        embedded: signed(report.embedded),
    });
    status.active_revision = Some(revision);
    status
}

fn signed(number: u64) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

fn outcome(job: &Job, pods: &[Pod], report: Option<&IngestionReport>) -> (RunOutcome, String) {
    let failed = condition(job, "Failed");
    let said = report.and_then(|report| report.problem.clone());
    match (failed, report) {
        (None, Some(report)) if report.complete => (RunOutcome::Complete, summary(report)),
        (None, Some(_)) => (RunOutcome::Incomplete, said.unwrap_or_else(|| "something is missing".to_owned())),
        (None, None) => {
            (RunOutcome::ReportLost, "the Job ended well, but the report of its pod is gone; it is repeated".to_owned())
        }
        (Some(why), report) => {
            // A report of a pod that ended in time says more than that the Job failed.
            let outcome = if report.is_some() { RunOutcome::Incomplete } else { RunOutcome::Failed };
            let end = newest_end(pods).map(|end| format!("; its last pod ended with {}", described(end)));
            let text =
                said.map_or_else(|| format!("{why}{}", end.unwrap_or_default()), |said| format!("{said} ({why})"));
            (outcome, text)
        }
    }
}

fn summary(report: &IngestionReport) -> String {
    let IngestionReport { added, updated, removed, unchanged, failed, .. } = report;
    let mut text = format!("{added} added, {updated} updated, {removed} removed, {unchanged} unchanged");
    if *failed > 0 {
        text.push_str(&format!(", {failed} could not be read"));
    }
    report.notes.iter().for_each(|note| text.push_str(&format!("; {note}")));
    text
}

/// Reason and message of a Job's condition that holds.
fn condition(job: &Job, kind: &str) -> Option<String> {
    let conditions = job.status.as_ref()?.conditions.as_ref()?;
    let condition = conditions.iter().find(|condition| condition.type_ == kind && condition.status == "True")?;
    let reason = condition.reason.as_deref().unwrap_or("the Job failed");
    Some(condition.message.as_deref().map_or_else(|| reason.to_owned(), |message| format!("{reason}: {message}")))
}

/// The newest report that any pod left.
fn report(pods: &[Pod]) -> Option<IngestionReport> {
    let mut ends: Vec<_> = pods.iter().filter_map(end).collect();
    ends.sort_by_key(|end| end.finished_at.clone().map(|time| time.0));
    ends.iter().rev().find_map(|end| serde_json::from_str(end.message.as_deref()?).ok())
}

fn newest_end(pods: &[Pod]) -> Option<&ContainerStateTerminated> {
    pods.iter().filter_map(end).max_by_key(|end| end.finished_at.clone().map(|time| time.0))
}

fn end(pod: &Pod) -> Option<&ContainerStateTerminated> {
    pod.status.as_ref()?.container_statuses.as_ref()?.first()?.state.as_ref()?.terminated.as_ref()
}

fn described(end: &ContainerStateTerminated) -> String {
    match &end.reason {
        Some(reason) => format!("code {} ({reason})", end.exit_code),
        None => format!("code {}", end.exit_code),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn job(conditions: Value) -> Job {
        serde_json::from_value(json!({
            "metadata": {"name": "kb-one-ingest", "uid": "u", "annotations": {REVISION: "new", CONFIG_HASH: "c"}},
            "status": {"conditions": conditions},
        }))
        .unwrap()
    }

    fn complete() -> Job {
        job(json!([{"type": "Complete", "status": "True"}]))
    }

    fn failed() -> Job {
        job(json!([{
            "type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": "Job was active too long"
        }]))
    }

    fn report() -> IngestionReport {
        IngestionReport {
            config: "c".into(),
            revision: "new".into(),
            complete: true,
            documents: 12,
            added: 12,
            ..IngestionReport::default()
        }
    }

    fn pod(message: Option<String>, code: i32, second: i64) -> Pod {
        let ended = Timestamp::from_second(second).unwrap().to_string();
        serde_json::from_value(json!({"status": {"containerStatuses": [{
            "name": "ingest", "ready": false, "restartCount": 0, "image": "", "imageID": "",
            "state": {"terminated": {"exitCode": code, "reason": "OOMKilled", "message": message, "finishedAt": ended}},
        }]}}))
        .unwrap()
    }

    fn recorded(before: &KnowledgeBaseStatus, job: &Job, pods: &[Pod], wanted: &str) -> KnowledgeBaseStatus {
        record(before, job, pods, wanted, Timestamp::from_second(9).unwrap())
    }

    fn ran(status: &KnowledgeBaseStatus) -> (RunOutcome, i32, &str) {
        let run = status.last_run.as_ref().unwrap();
        (run.outcome, run.failures, &run.message)
    }

    #[test]
    fn a_complete_report_makes_its_revision_the_active_one() {
        let pods = [pod(None, 137, 1), pod(Some(report().message()), 0, 2)];
        let status = recorded(&KnowledgeBaseStatus::default(), &complete(), &pods, "new");
        assert_eq!(status.active_revision.as_deref(), Some("new"));
        assert_eq!((status.documents, ran(&status).0, ran(&status).1), (Some(12), RunOutcome::Complete, 0));
    }

    #[test]
    fn a_revision_that_nobody_wants_any_more_is_not_switched_to() {
        let before = KnowledgeBaseStatus { active_revision: Some("old".into()), ..KnowledgeBaseStatus::default() };
        let pods = [pod(Some(report().message()), 0, 2)];
        let status = recorded(&before, &complete(), &pods, "newer");
        assert_eq!((status.active_revision.as_deref(), status.last_sync), (Some("old"), None));
    }

    #[test]
    fn silence_and_lost_reports_switch_nothing_and_are_counted() {
        let before = KnowledgeBaseStatus { active_revision: Some("old".into()), ..KnowledgeBaseStatus::default() };
        let lost = recorded(&before, &complete(), &[], "new");
        assert_eq!((ran(&lost).0, ran(&lost).1), (RunOutcome::ReportLost, 1));
        let died = recorded(&lost, &failed(), &[pod(None, 137, 1)], "new");
        assert_eq!((ran(&died).0, ran(&died).1), (RunOutcome::Failed, 2));
        let message = "DeadlineExceeded: Job was active too long; its last pod ended with code 137 (OOMKilled)";
        assert_eq!(ran(&died).2, message);
        assert_eq!(died.active_revision.as_deref(), Some("old"));
    }

    #[test]
    fn a_report_of_another_configuration_is_none() {
        let other = IngestionReport { config: "other".into(), ..report() };
        let status = recorded(&KnowledgeBaseStatus::default(), &complete(), &[pod(Some(other.message()), 0, 1)], "new");
        assert_eq!((ran(&status).0, status.active_revision), (RunOutcome::ReportLost, None));
    }

    #[test]
    fn what_is_missing_is_told() {
        let problem = Some("12 of 20 documents are gone".to_owned());
        let held = IngestionReport { complete: false, problem, ..report() };
        let status = recorded(&KnowledgeBaseStatus::default(), &failed(), &[pod(Some(held.message()), 1, 1)], "new");
        assert_eq!(ran(&status).0, RunOutcome::Incomplete);
        assert!(ran(&status).2.starts_with("12 of 20 documents are gone (DeadlineExceeded"), "{}", ran(&status).2);
        assert_eq!(status.active_revision, None);
    }
}
