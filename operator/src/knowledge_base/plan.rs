//! Which ingestion is due, and what is to be done with the Job that is there. Pure.
//!
//! There is one Job a knowledge base, under a fixed name, and none beside it: a finished one stays until the next is due, is
//! then removed, and only when it and its pods are gone the next one is made.

use groundwork_crds::{KnowledgeBaseStatus, LastRun, RunOutcome};
use jiff::{SignedDuration, Timestamp};

/// The longest pause after failures.
const LONGEST_PAUSE: SignedDuration = SignedDuration::from_hours(1);

/// The ingestion that the spec and its annotations ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) revision: String,
    pub(super) config_hash: String,
    pub(super) sync_requested_at: Option<String>,
    pub(super) accept_deletes: Option<String>,
}

/// What is known of the Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum JobState {
    None,
    Running {
        config_hash: String,
    },
    Finished {
        uid: String,
    },
    /// It, or a pod of it, still has to go.
    Going,
}

/// What bears on when the next one is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timing {
    pub(super) now: Timestamp,
    pub(super) suspended: bool,
    /// The first time of the schedule after the newest ingestion; `None` without a schedule.
    pub(super) scheduled: Option<Timestamp>,
    /// The pause after a first failure; it doubles with each one.
    pub(super) first_pause: SignedDuration,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing, until something changes or until this time.
    Rest(Option<Timestamp>),
    /// Take over what the finished Job says.
    Record,
    /// Remove a Job that runs for what is not wanted any more.
    Cancel,
    /// Remove the finished Job: the next one is due.
    Clear,
    /// Make the next Job.
    Start,
}

/// The next step.
pub(super) fn next(status: &KnowledgeBaseStatus, wanted: &Wanted, job: &JobState, timing: &Timing) -> Step {
    match job {
        JobState::Going => Step::Rest(None),
        JobState::Running { config_hash } if *config_hash != wanted.config_hash => Step::Cancel,
        JobState::Running { .. } => Step::Rest(None),
        JobState::Finished { uid } if status.last_run.as_ref().is_none_or(|run| run.job != *uid) => Step::Record,
        JobState::Finished { .. } => when_due(status, wanted, timing, Step::Clear),
        JobState::None => when_due(status, wanted, timing, Step::Start),
    }
}

fn when_due(status: &KnowledgeBaseStatus, wanted: &Wanted, timing: &Timing, step: Step) -> Step {
    if timing.suspended {
        return Step::Rest(None);
    }
    match due(status, wanted, timing) {
        Some(at) if at <= timing.now => step,
        other => Step::Rest(other),
    }
}

/// When the next ingestion is due; `None` where only a change can make one due.
pub(super) fn due(status: &KnowledgeBaseStatus, wanted: &Wanted, timing: &Timing) -> Option<Timestamp> {
    let Some(last) = status.last_run.as_ref().filter(|last| !asks_for_more(wanted, last)) else {
        return Some(timing.now);
    };
    if last.outcome == RunOutcome::Complete {
        return timing.scheduled;
    }
    let ended: Timestamp = last.finished_at.parse().unwrap_or(timing.now);
    Some(ended.saturating_add(pause(timing.first_pause, last.failures)).unwrap_or(timing.now))
}

/// Whether what is wanted differs from what the newest ingestion was asked for.
fn asks_for_more(wanted: &Wanted, last: &LastRun) -> bool {
    let newly = |wanted: &Option<String>, answered: &Option<String>| wanted.is_some() && wanted != answered;
    last.config_hash != wanted.config_hash
        || newly(&wanted.sync_requested_at, &last.sync_requested_at)
        || newly(&wanted.accept_deletes, &last.accept_deletes)
}

fn pause(first: SignedDuration, failures: i32) -> SignedDuration {
    let doublings = u32::try_from(failures.saturating_sub(1)).unwrap_or(0).min(20);
    first.saturating_mul(1 << doublings).min(LONGEST_PAUSE)
}

/// Whether everything that is wanted is in.
pub(super) fn is_realised(status: &KnowledgeBaseStatus, wanted: &Wanted) -> bool {
    let synced = status.last_sync.as_ref().is_some_and(|sync| sync.config_hash == wanted.config_hash);
    synced && status.active_revision.as_ref() == Some(&wanted.revision)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn wanted(config: &str) -> Wanted {
        Wanted { revision: "r".into(), config_hash: config.into(), sync_requested_at: None, accept_deletes: None }
    }

    fn timing(now: i64) -> Timing {
        Timing { now: at(now), suspended: false, scheduled: None, first_pause: SignedDuration::from_secs(30) }
    }

    fn ran(outcome: RunOutcome, failures: i32) -> KnowledgeBaseStatus {
        let last_run = LastRun {
            job: "uid".into(),
            outcome,
            finished_at: at(1000).to_string(),
            message: String::new(),
            failures,
            revision: "r".into(),
            config_hash: "c".into(),
            sync_requested_at: None,
            accept_deletes: None,
        };
        KnowledgeBaseStatus { last_run: Some(last_run), ..KnowledgeBaseStatus::default() }
    }

    fn finished() -> JobState {
        JobState::Finished { uid: "uid".into() }
    }

    #[test]
    fn a_new_knowledge_base_is_ingested_at_once() {
        let status = KnowledgeBaseStatus::default();
        assert_eq!(next(&status, &wanted("c"), &JobState::None, &timing(0)), Step::Start);
    }

    #[test]
    fn a_complete_one_rests_until_its_schedule_or_a_change() {
        let status = ran(RunOutcome::Complete, 0);
        assert_eq!(next(&status, &wanted("c"), &finished(), &timing(2000)), Step::Rest(None));
        let scheduled = Timing { scheduled: Some(at(3000)), ..timing(2000) };
        assert_eq!(next(&status, &wanted("c"), &finished(), &scheduled), Step::Rest(Some(at(3000))));
        let passed = Timing { scheduled: Some(at(1500)), ..timing(2000) };
        assert_eq!(next(&status, &wanted("c"), &finished(), &passed), Step::Clear, "a missed time is made up for");
        assert_eq!(next(&status, &wanted("d"), &finished(), &timing(2000)), Step::Clear);
        let asked = Wanted { sync_requested_at: Some("now".into()), ..wanted("c") };
        assert_eq!(next(&status, &asked, &finished(), &timing(2000)), Step::Clear);
        assert_eq!(next(&status, &asked, &JobState::Going, &timing(2000)), Step::Rest(None));
        assert_eq!(next(&status, &asked, &JobState::None, &timing(2000)), Step::Start);
    }

    #[test]
    fn a_removed_annotation_asks_for_nothing() {
        let mut status = ran(RunOutcome::Complete, 0);
        status.last_run.as_mut().unwrap().sync_requested_at = Some("before".into());
        assert_eq!(next(&status, &wanted("c"), &finished(), &timing(2000)), Step::Rest(None));
    }

    #[test]
    fn failures_are_tried_again_ever_more_rarely() {
        for (failures, seconds) in [(1, 30), (2, 60), (4, 240), (7, 1920), (8, 3600), (60, 3600)] {
            let status = ran(RunOutcome::Failed, failures);
            let due = due(&status, &wanted("c"), &timing(1000));
            assert_eq!(due, Some(at(1000 + seconds)), "{failures} failures");
        }
        let edited = next(&ran(RunOutcome::Failed, 8), &wanted("d"), &finished(), &timing(1001));
        assert_eq!(edited, Step::Clear, "an edit is tried at once");
    }

    #[test]
    fn a_finished_job_is_recorded_once() {
        let other = JobState::Finished { uid: "other".into() };
        assert_eq!(next(&ran(RunOutcome::Complete, 0), &wanted("c"), &other, &timing(2000)), Step::Record);
        assert_eq!(next(&KnowledgeBaseStatus::default(), &wanted("d"), &other, &timing(2000)), Step::Record);
    }

    #[test]
    fn an_edit_cancels_what_runs_and_a_suspended_one_starts_nothing() {
        let running = JobState::Running { config_hash: "c".into() };
        let status = KnowledgeBaseStatus::default();
        assert_eq!(next(&status, &wanted("c"), &running, &timing(0)), Step::Rest(None));
        assert_eq!(next(&status, &wanted("d"), &running, &timing(0)), Step::Cancel);
        let suspended = Timing { suspended: true, ..timing(0) };
        assert_eq!(next(&status, &wanted("c"), &JobState::None, &suspended), Step::Rest(None));
    }

    proptest! {
        /// However a Job ended and whatever is asked for: never is one made beside another, and a Job whose outcome is not
        /// recorded is never removed.
        #[test]
        fn never_two_and_nothing_is_lost(
            outcome in prop_oneof![
                Just(RunOutcome::Complete), Just(RunOutcome::Incomplete), Just(RunOutcome::Failed), Just(RunOutcome::ReportLost)
            ],
            failures in 0..50,
            config in "[cd]",
            uid in prop_oneof![Just("uid".to_owned()), Just("other".to_owned())],
            now in 0..10_000i64,
            suspended: bool,
            scheduled in proptest::option::of(0..10_000i64),
        ) {
            let status = ran(outcome, failures);
            let timing = Timing { suspended, scheduled: scheduled.map(at), ..timing(now) };
            let step = next(&status, &wanted(&config), &JobState::Finished { uid: uid.clone() }, &timing);
            prop_assert!(step != Step::Start && step != Step::Cancel);
            prop_assert_eq!(step == Step::Record, uid == "other");
            let running = JobState::Running { config_hash: "c".into() };
            let step = next(&status, &wanted(&config), &running, &timing);
            prop_assert!(matches!(step, Step::Rest(None) | Step::Cancel));
        }
    }
}
