//! What the status says. Pure.

use groundwork_crds::condition::{
    ACCEPTED, READY, REBUILD_AVAILABLE, RECONCILING, RESOLVED_REFS, Reason, STALLED, SYNCED,
};
use groundwork_crds::{KnowledgeBaseStatus, RunOutcome};
use serde_json::Value;

use super::plan::is_realised;
use super::validate::Asked;
use crate::conditions::{Fact, Truth};
use crate::report::Findings;
use crate::verdict::Verdict;

/// What is going on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Activity {
    Resting,
    /// A Job runs, or its pods are going, for this revision.
    Ingesting(String),
    /// The next Job waits for others to end.
    WaitingForCapacity,
}

/// The findings: `recorded` is the status with what is known of ingestions.
pub(super) fn status(
    verdict: &Verdict,
    asked: Option<&Asked>,
    mut recorded: KnowledgeBaseStatus,
    activity: &Activity,
    next_sync: Option<jiff::Timestamp>,
) -> Findings {
    recorded.building_revision = match activity {
        Activity::Ingesting(revision) if recorded.active_revision.as_ref() != Some(revision) => Some(revision.clone()),
        _ => None,
    };
    recorded.contract_hash = asked.map(|asked| asked.ingestion.knowledge_base.contract.hash());
    recorded.next_sync = next_sync.map(|time| time.to_string());
    let facts = facts(verdict, asked, &recorded, activity);
    let Ok(Value::Object(mut fields)) = serde_json::to_value(&recorded) else {
        unreachable!("a status is an object");
    };
    fields.retain(|name, _| name != "conditions" && name != "observedGeneration");
    Findings { facts, fields }
}

fn facts(verdict: &Verdict, asked: Option<&Asked>, status: &KnowledgeBaseStatus, activity: &Activity) -> Vec<Fact> {
    let common = verdict.facts();
    let told = |kind: &str| common.iter().find(|fact| fact.kind == kind).cloned();
    let [accepted, resolved, stalled] = [ACCEPTED, RESOLVED_REFS, STALLED].map(told);
    let problem = verdict.spec.as_ref().err().or(verdict.references.as_ref().err());
    let synced = synced(asked, status, activity, problem.is_some());
    let ready = match &status.active_revision {
        Some(revision) => {
            Fact::new(READY, Truth::True, Reason::Available, format!("The revision {revision} can be read."))
        }
        None => match problem {
            Some(_) => told(READY).unwrap_or_else(|| synced.clone()),
            None => Fact { kind: READY, truth: Truth::False, ..synced.clone() },
        },
    };
    let realised = asked.is_some_and(|asked| is_realised(status, &asked.wanted));
    let reconciling = match problem {
        Some(_) => told(RECONCILING),
        None if realised => {
            Some(Fact::new(RECONCILING, Truth::False, Reason::Reconciled, "The current spec is realised."))
        }
        None => Some(Fact { kind: RECONCILING, truth: Truth::True, ..synced.clone() }),
    };
    let all = [accepted, resolved, Some(synced), Some(rebuild(asked)), Some(ready), reconciling, stalled];
    all.into_iter().flatten().collect()
}

fn synced(asked: Option<&Asked>, status: &KnowledgeBaseStatus, activity: &Activity, wrong: bool) -> Fact {
    let fact = |truth, reason, message: String| Fact::new(SYNCED, truth, reason, message);
    match activity {
        Activity::Ingesting(revision) if status.active_revision.as_ref() == Some(revision) => {
            return fact(Truth::False, Reason::Syncing, format!("The sources are read into the revision {revision}."));
        }
        Activity::Ingesting(revision) => {
            return fact(Truth::False, Reason::Building, format!("The revision {revision} is built."));
        }
        Activity::WaitingForCapacity => {
            let message = "The next ingestion waits: as many run as may run at a time.";
            return fact(Truth::False, Reason::WaitingForCapacity, message.to_owned());
        }
        Activity::Resting => {}
    }
    let last = status.last_run.as_ref();
    let realised = asked.is_some_and(|asked| is_realised(status, &asked.wanted));
    let suspended = asked.is_some_and(|asked| asked.suspended);
    match last {
        _ if suspended && !realised => fact(
            Truth::False,
            Reason::Suspended,
            "spec.sync.suspend is true, so nothing is ingested; set it to false".to_owned(),
        ),
        None if wrong => {
            fact(Truth::Unknown, Reason::Pending, "The spec or what it names must be right first.".to_owned())
        }
        None => fact(Truth::False, Reason::NeverSynced, "No ingestion has ended yet.".to_owned()),
        Some(run) => {
            let (truth, reason) = match run.outcome {
                RunOutcome::Complete if realised || wrong => (Truth::True, Reason::Complete),
                RunOutcome::Complete => (Truth::False, Reason::Building),
                RunOutcome::Incomplete => (Truth::False, Reason::Incomplete),
                RunOutcome::Failed => (Truth::False, Reason::IngestionFailed),
                RunOutcome::ReportLost => (Truth::False, Reason::ReportLost),
            };
            let attempts = match run.failures {
                0 | 1 => String::new(),
                failures => format!(" ({failures} times in a row)"),
            };
            fact(truth, reason, format!("{}{attempts}", run.message))
        }
    }
}

fn rebuild(asked: Option<&Asked>) -> Fact {
    match asked {
        None => Fact::new(
            REBUILD_AVAILABLE,
            Truth::Unknown,
            Reason::Pending,
            "The spec or what it names must be right first.",
        ),
        Some(asked) if asked.differing.is_empty() => Fact::new(
            REBUILD_AVAILABLE,
            Truth::False,
            Reason::SameContract,
            "A new index would not differ from the one that is read or built.",
        ),
        Some(asked) => Fact::new(
            REBUILD_AVAILABLE,
            Truth::True,
            Reason::SpecDiffers,
            format!(
                "A new index would differ in {}; set the annotation groundwork.dev/rebuild-requested-at to the present \
                 time to build it",
                asked.differing.join(", ")
            ),
        ),
    }
}
