//! KnowledgeBase: keeps the one Job that ingests, remembers revisions, and says which one is read.
//!
//! `plan` decides what is due, `harvest` takes over what a Job says. The status is the memory: which Job was recorded last,
//! which revision is read. It is written before what it speaks of is removed, so that a crash at any point repeats a step
//! and loses none.

mod apply;
mod desired;
mod harvest;
mod names;
mod observe;
mod plan;
mod schedule;
mod status;
mod validate;

use groundwork_crds::{KnowledgeBase, KnowledgeBaseStatus};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::Job;
use kube_client::ResourceExt;
use kube_client::core::DeserializeGuard;
use serde_json::Map;
use std::sync::Arc;
use std::time::Duration;

use crate::capacity::Key;
use crate::context::Context;
use crate::controller::{Again, Error, Reconciled};
use crate::ensure::ensure;
use crate::names::{CONFIG_HASH, KNOWLEDGE_BASE, REVISION};
use crate::report::{Findings, report};
use crate::verdict::undecodable;
use crate::watch::Guarded;
use observe::Observed;
use plan::{JobState, Step, Timing};
use status::Activity;
use validate::Asked;

pub(crate) use names::{CONTRACT_FILE, revision as revision_name};
pub(crate) use validate::options;

/// Whoever waits for a place looks again after this time, should nobody tell.
const LOOK_FOR_A_PLACE: Duration = Duration::from_secs(60);

impl Reconciled for KnowledgeBase {
    async fn reconcile(object: Arc<Guarded<Self>>, context: Arc<Context>) -> Result<Again, Error> {
        if let Err(invalid) = &object.0 {
            let findings = Findings { facts: undecodable(&invalid.error), fields: Map::new() };
            report(&*object, None, &findings, &context).await?;
            return Ok(None);
        }
        let key = (object.namespace().unwrap_or_default(), object.name_any());
        let live = observe::live(&key.1, &key.0, &context).await?;
        let Some(base) = live.filter(|live| live.metadata.deletion_timestamp.is_none()) else {
            context.capacity.forget(&key);
            release(&key, &context);
            return Ok(None);
        };
        let observed = observe::observe(&base, &context).await?;
        Run { base, key, observed, context: &context }.run().await
    }
}

/// One reconciliation.
struct Run<'a> {
    base: KnowledgeBase,
    key: Key,
    observed: Observed,
    context: &'a Context,
}

impl Run<'_> {
    async fn run(self) -> Result<Again, Error> {
        let (asked, verdict) = validate::validate(&self.base, &self.observed);
        let mut status = self.base.status.clone().unwrap_or_default();
        let now = Timestamp::now();
        let job = self.observed.job.as_ref();
        let state = job_state(job);
        if matches!(state, JobState::None | JobState::Finished { .. }) {
            release(&self.key, self.context);
        }
        let (activity, until) = match &asked {
            Some(asked) => self.step(asked, &mut status, now).await?,
            // What is wrong with the spec does not touch what runs; what it did is still taken over.
            None => {
                if let (JobState::Finished { uid }, Some(job)) = (&state, job)
                    && status.last_run.as_ref().is_none_or(|run| run.job != *uid)
                {
                    let wanted = status.active_revision.clone().unwrap_or_default();
                    status = harvest::record(&status, job, &self.observed.pods, &wanted, now);
                }
                (activity(job), None)
            }
        };
        let suspended = asked.as_ref().is_none_or(|asked| asked.suspended);
        let next_sync = asked.as_ref().filter(|_| !suspended).and_then(|asked| scheduled(asked, &status));
        let findings = status::status(&verdict, asked.as_ref(), status, &activity, next_sync);
        let copy = self.base.status.as_ref().and_then(|status| serde_json::to_value(status).ok());
        let again = self.observed.again(&self.context.settings);
        report(&DeserializeGuard(Ok(self.base)), copy.as_ref(), &findings, self.context).await?;
        let wait = until.map(|until| {
            let left = until.duration_since(now).max(SignedDuration::ZERO);
            left.unsigned_abs() + Duration::from_millis(50)
        });
        let waiting = (activity == Activity::WaitingForCapacity).then_some(LOOK_FOR_A_PLACE);
        Ok([wait, waiting, again].into_iter().flatten().min())
    }

    /// Does what is due. What goes on then, and when to look again.
    async fn step(
        &self,
        asked: &Asked,
        status: &mut KnowledgeBaseStatus,
        now: Timestamp,
    ) -> Result<(Activity, Option<Timestamp>), Error> {
        let (job, client) = (self.observed.job.as_ref(), &self.context.client);
        if asked.respells_active(self.observed.active.as_ref()) {
            apply::config_map(client, &desired::revision(&self.base, asked)).await?;
        }
        let state = job_state(job);
        let timing = Timing {
            now,
            suspended: asked.suspended,
            scheduled: scheduled(asked, status),
            first_pause: SignedDuration::from_secs(self.context.settings.ingestion_retry_seconds.into()),
        };
        let step = plan::next(status, &asked.wanted, &state, &timing);
        match (step, job) {
            (Step::Rest(until), _) => {
                if let (JobState::Running { config_hash }, Some(job)) = (&state, job)
                    && *config_hash == asked.wanted.config_hash
                {
                    // A crash may have come between the two.
                    apply::config_map(client, &desired::config(&self.base, asked, job)).await?;
                }
                // A Job is removed because another is due.
                let activity = match state {
                    JobState::Going => Activity::Ingesting(asked.wanted.revision.clone()),
                    _ => activity(job),
                };
                Ok((activity, until))
            }
            (Step::Record, Some(job)) => {
                *status = harvest::record(status, job, &self.observed.pods, &asked.wanted.revision, now);
                // The status is written now; the next look does what is due then.
                Ok((Activity::Resting, Some(now)))
            }
            (Step::Cancel | Step::Clear, Some(job)) => {
                tracing::info!(job = job.name_any(), namespace = self.key.0, ?step, "removes a Job");
                apply::remove(client, job).await?;
                Ok((Activity::Ingesting(asked.wanted.revision.clone()), None))
            }
            _ => self.start(asked).await,
        }
    }

    async fn start(&self, asked: &Asked) -> Result<(Activity, Option<Timestamp>), Error> {
        if !self.context.capacity.take(&self.key, running(self.context)) {
            return Ok((Activity::WaitingForCapacity, None));
        }
        let client = &self.context.client;
        if let Some(claim) = desired::state_claim(&self.base).filter(|_| !self.observed.state_claim) {
            apply::claim(client, &claim).await?;
        }
        ensure(client, &desired::network_policy(&self.base, asked)).await?;
        apply::config_map(client, &desired::revision(&self.base, asked)).await?;
        let image = &self.context.settings.runtime_image;
        let job = apply::start(client, &desired::job(&self.base, asked, &self.observed, image)).await?;
        if job.annotations().get(CONFIG_HASH) == Some(&asked.wanted.config_hash) {
            apply::config_map(client, &desired::config(&self.base, asked, &job)).await?;
        }
        Ok((Activity::Ingesting(asked.wanted.revision.clone()), None))
    }
}

/// Gives the place of one that does not ingest back, and tells who waits.
fn release(key: &Key, context: &Context) {
    for next in context.capacity.give_back(key) {
        // Nobody listens any more while the process ends.
        let _ = context.wake.send(next);
    }
}

/// The knowledge bases whose Job runs, as far as the copies know.
fn running(context: &Context) -> impl Iterator<Item = Key> {
    let jobs = context.stores.jobs.state();
    jobs.into_iter().filter_map(|job| {
        let job = job.0.as_ref().ok().filter(|job| !observe::has_ended(job))?;
        Some((job.namespace()?, job.labels().get(KNOWLEDGE_BASE)?.clone()))
    })
}

fn scheduled(asked: &Asked, status: &KnowledgeBaseStatus) -> Option<Timestamp> {
    let last: Timestamp = status.last_run.as_ref()?.finished_at.parse().ok()?;
    asked.schedule.as_ref()?.next_after(last)
}

fn job_state(job: Option<&Job>) -> JobState {
    match job {
        None => JobState::None,
        Some(job) if job.metadata.deletion_timestamp.is_some() => JobState::Going,
        Some(job) if observe::has_ended(job) => JobState::Finished { uid: job.uid().unwrap_or_default() },
        Some(job) => JobState::Running { config_hash: job.annotations().get(CONFIG_HASH).cloned().unwrap_or_default() },
    }
}

fn activity(job: Option<&Job>) -> Activity {
    match (job_state(job), job) {
        (JobState::Running { .. } | JobState::Going, Some(job)) => {
            Activity::Ingesting(job.annotations().get(REVISION).cloned().unwrap_or_default())
        }
        _ => Activity::Resting,
    }
}

#[cfg(test)]
mod tests;
