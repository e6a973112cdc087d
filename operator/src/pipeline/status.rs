//! What the status says. Pure.

use groundwork_crds::condition::{ACCEPTED, PROGRESSING, READY, RECONCILING, RESOLVED_REFS, Reason, STALLED};
use groundwork_crds::{AgentPipeline, AgentPipelineStatus};
use k8s_openapi::api::apps::v1::Deployment;
use kube_client::ResourceExt;
use serde_json::Value;

use super::names;
use super::observe::Observed;
use super::validate::Asked;
use crate::conditions::{Fact, Truth};
use crate::report::Findings;
use crate::verdict::Verdict;

pub(super) fn status(
    pipeline: &AgentPipeline,
    verdict: &Verdict,
    asked: Option<&Asked>,
    observed: &Observed,
) -> Findings {
    let mut status = pipeline.status.clone().unwrap_or_default();
    if let Some(asked) = asked {
        let (name, namespace) = (names::base(&pipeline.name_any()), pipeline.namespace().unwrap_or_default());
        status = AgentPipelineStatus {
            url: Some(format!("http://{name}.{namespace}.svc")),
            config_hash: Some(asked.config_hash.clone()),
            policy_hash: Some(asked.policy.hash()),
            revisions: asked.revisions.clone(),
            ..status
        };
    }
    status.replicas = observed.deployment.as_ref().map(available);
    let facts = facts(verdict, observed);
    let Ok(Value::Object(mut fields)) = serde_json::to_value(&status) else {
        unreachable!("a status is an object");
    };
    fields.retain(|name, _| name != "conditions" && name != "observedGeneration");
    Findings { facts, fields }
}

fn facts(verdict: &Verdict, observed: &Observed) -> Vec<Fact> {
    let common = verdict.facts();
    let told = |kind: &str| common.iter().find(|fact| fact.kind == kind).cloned();
    let wrong = verdict.spec.is_err() || verdict.references.is_err();
    let deployment = observed.deployment.as_ref();
    let progress = progress(deployment);
    let ready = match deployment {
        Some(deployment) if available(deployment) > 0 => {
            Some(Fact::new(READY, Truth::True, Reason::Available, "Questions can be asked."))
        }
        _ if wrong => told(READY),
        Some(deployment) if deployment.spec.as_ref().and_then(|spec| spec.replicas) == Some(0) => {
            Some(Fact::new(READY, Truth::False, Reason::ScaledToZero, "No pod is wanted."))
        }
        _ if progress.truth == Truth::False => Some(Fact { kind: READY, ..progress.clone() }),
        _ => Some(Fact::new(READY, Truth::False, Reason::NoPodReady, "No pod can be asked yet.")),
    };
    let reconciling = match () {
        () if wrong => told(RECONCILING),
        () if is_rolled_out(deployment) => {
            Some(Fact::new(RECONCILING, Truth::False, Reason::Reconciled, "The current spec is realised."))
        }
        () => Some(Fact { kind: RECONCILING, truth: Truth::True, ..progress.clone() }),
    };
    let stalled = match () {
        () if !wrong && progress.truth == Truth::False => {
            Some(Fact { kind: STALLED, truth: Truth::True, ..progress.clone() })
        }
        () => told(STALLED),
    };
    let all = [told(ACCEPTED), told(RESOLVED_REFS), Some(progress), ready, reconciling, stalled];
    all.into_iter().flatten().collect()
}

fn progress(deployment: Option<&Deployment>) -> Fact {
    let Some(deployment) = deployment else {
        return Fact::new(PROGRESSING, Truth::Unknown, Reason::Pending, "Nothing is rolled out yet.");
    };
    if let Some(why) = failure(deployment) {
        let message = format!("Pods of the newest configuration do not become ready: {why}");
        return Fact::new(PROGRESSING, Truth::False, Reason::RolloutFailed, message);
    }
    if is_rolled_out(Some(deployment)) {
        return Fact::new(PROGRESSING, Truth::True, Reason::RolledOut, "All pods have the newest configuration.");
    }
    Fact::new(PROGRESSING, Truth::True, Reason::RollingOut, "Pods of the newest configuration are coming.")
}

/// Why the Deployment gave up, if it did.
fn failure(deployment: &Deployment) -> Option<String> {
    let conditions = deployment.status.as_ref()?.conditions.as_ref()?;
    let failed = |kind: &str, status: &str| {
        conditions.iter().find(|condition| condition.type_ == kind && condition.status == status)
    };
    let condition = failed("ReplicaFailure", "True").or_else(|| failed("Progressing", "False"))?;
    Some(condition.message.clone().or_else(|| condition.reason.clone()).unwrap_or_default())
}

fn available(deployment: &Deployment) -> i32 {
    deployment.status.as_ref().and_then(|status| status.available_replicas).unwrap_or(0)
}

/// Whether all pods have the newest template and can be asked, and no other is left.
pub(super) fn is_rolled_out(deployment: Option<&Deployment>) -> bool {
    let Some(deployment) = deployment else { return false };
    let (Some(spec), Some(status)) = (&deployment.spec, &deployment.status) else { return false };
    let wanted = spec.replicas.unwrap_or(1);
    status.observed_generation == deployment.metadata.generation
        && status.updated_replicas.unwrap_or(0) == wanted
        && status.available_replicas.unwrap_or(0) == wanted
        && status.replicas.unwrap_or(0) == wanted
}
