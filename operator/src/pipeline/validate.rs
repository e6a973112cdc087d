//! The mistakes of people, and what a correct spec asks for. Pure.

use groundwork_config::compile::{Error as Mistake, Objects, compile, compile_policy};
use groundwork_config::{Authentication, Policy, Revision, Serving, Store, SyncPolicy, revision_id};
use groundwork_crds::condition::Reason;
use groundwork_crds::{AgentPipeline, AuthenticationType, ServedRevision};
use kube_client::ResourceExt;
use std::collections::BTreeMap;

use super::names::KEYS_FOLDER;
use super::observe::{Observed, caller_keys};
use crate::knowledge_base::options;
use crate::verdict::{Problem, Verdict};

/// What a correct spec asks for.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) serving: Serving,
    pub(super) config_hash: String,
    pub(super) policy: Policy,
    pub(super) revisions: Vec<ServedRevision>,
}

/// What the spec asks for, where it and what it names are right; and the verdict.
pub(super) fn validate(pipeline: &AgentPipeline, observed: &Observed) -> (Option<Asked>, Verdict) {
    match asked(pipeline, observed) {
        Ok(asked) => (Some(asked), Verdict { spec: Ok(()), references: Ok(()) }),
        Err(Wrong::Spec(problem)) => (None, Verdict { spec: Err(problem), references: Ok(()) }),
        Err(Wrong::Reference(problem)) => (None, Verdict { spec: Ok(()), references: Err(problem) }),
    }
}

/// Why pods that run must deny: the policy that the spec names is gone or wrong.
pub(super) fn denial(pipeline: &AgentPipeline, observed: &Observed) -> Option<String> {
    let name = &pipeline.spec.tool_policy_ref.as_ref()?.name;
    match &observed.policy {
        None => Some(format!("the ToolPolicy {name} does not exist")),
        Some(policy) => compile_policy(policy).err().map(|mistake| mistake.to_string()),
    }
}

enum Wrong {
    Spec(Problem),
    Reference(Problem),
}

fn asked(pipeline: &AgentPipeline, observed: &Observed) -> Result<Asked, Wrong> {
    let authentication = authentication(pipeline)?;
    let objects = Objects {
        knowledge_bases: observed.bases.clone(),
        pipelines: vec![pipeline.clone()],
        endpoints: observed.endpoints.clone(),
        policies: observed.policy.iter().cloned().collect(),
    };
    let mut config = compile(&objects, &options(&observed.bases)).map_err(|mistake| wrong(&mistake))?;
    references(pipeline, observed)?;
    let (mut revisions, mut served) = (BTreeMap::new(), Vec::new());
    for base in &mut config.knowledge_bases {
        if base.store == Store::Embedded {
            return Err(Wrong::Reference(not_ready(&base.name, "it lies in a process's own file (spec.vectorStore)")));
        }
        let Some(contract) = observed.contracts.get(&base.name) else {
            return Err(Wrong::Reference(not_ready(&base.name, "it has no revision yet that could be read")));
        };
        served.push(ServedRevision { knowledge_base: base.name.clone(), revision: revision_id(contract) });
        revisions.insert(base.name.clone(), Revision::new(base.data_id, contract.clone()));
        base.contract = contract.clone();
        // Pods that answer read the store alone: other sources are no other configuration.
        (base.sources, base.sync) = (Vec::new(), SyncPolicy::default());
    }
    // Delivered by itself, so that another limit is no rollout.
    let policy = std::mem::take(&mut config.policy);
    let serving = Serving { config, revisions, authentication };
    Ok(Asked { config_hash: serving.hash(), serving, policy, revisions: served })
}

fn authentication(pipeline: &AgentPipeline) -> Result<Authentication, Wrong> {
    match pipeline.spec.authentication.as_ref().map(|spec| spec.r#type) {
        Some(AuthenticationType::None) => Ok(Authentication::None),
        Some(AuthenticationType::ApiKeys) => Ok(Authentication::ApiKeys { folder: KEYS_FOLDER.into() }),
        None => Err(Wrong::Spec(Problem::new(
            Reason::AuthenticationRequired,
            "spec.authentication is missing: choose type ApiKeys and name a Secret, or type None, which lets everybody \
             ask who reaches the port",
        ))),
    }
}

fn not_ready(name: &str, why: &str) -> Problem {
    let message = format!("spec.knowledgeBases names {name}: {why}; see `kubectl describe kb {name}`");
    Problem::new(Reason::KnowledgeBaseNotReady, message)
}

fn references(pipeline: &AgentPipeline, observed: &Observed) -> Result<(), Wrong> {
    let namespace = pipeline.namespace().unwrap_or_default();
    observed.keys.iter().try_for_each(|key| key.check(&namespace)).map_err(Wrong::Reference)?;
    match caller_keys(pipeline).filter(|_| observed.caller_keys == Some(false)) {
        None => Ok(()),
        Some(name) => Err(Wrong::Reference(Problem::new(
            Reason::SecretNotFound,
            format!(
                "spec.authentication.apiKeys.secretRef.name is {name:?}: namespace {namespace} has no such Secret; \
                 create it with lines of `groundwork api-key`, or correct the name"
            ),
        ))),
    }
}

fn wrong(mistake: &Mistake) -> Wrong {
    let message = mistake.to_string();
    let reason = match mistake {
        Mistake::UnknownReference { kind: "KnowledgeBase", .. } => Reason::KnowledgeBaseNotFound,
        Mistake::UnknownReference { kind: "ToolPolicy", .. } => Reason::PolicyNotFound,
        Mistake::UnknownReference { .. } => Reason::EndpointNotFound,
        Mistake::UseNotAllowed { .. } => Reason::EndpointNotForThis,
        _ => return Wrong::Spec(Problem::new(Reason::Invalid, message)),
    };
    Wrong::Reference(Problem::new(reason, message))
}
