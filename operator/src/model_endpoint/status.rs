//! What the conditions say. Pure.

use groundwork_crds::condition::{ACCEPTED, READY, RECONCILING, RESOLVED_REFS, Reason, STALLED};
use serde_json::{Map, json};

use super::observe::Observed;
use super::validate::{Problem, Validated};
use crate::conditions::{Fact, Truth};
use crate::report::Findings;

/// Users that are named; the rest is counted.
const NAMED_USERS: usize = 16;

pub(super) fn status(validated: &Validated, observed: &Observed) -> Findings {
    let mut fields = Map::new();
    fields.insert("users".into(), observed.users.len().into());
    if !observed.users.is_empty() {
        fields.insert("usedBy".into(), json!(observed.users[..NAMED_USERS.min(observed.users.len())]));
    }
    Findings { facts: facts(validated), fields }
}

/// For an object whose spec this version cannot read.
pub(super) fn undecodable(error: &str) -> Findings {
    let problem = Problem {
        reason: Reason::Undecodable,
        message: format!(
            "the stored spec can not be read ({error}); upgrade the operator or remove what it does not know"
        ),
    };
    let pending = |kind| Fact::new(kind, Truth::Unknown, Reason::Pending, "the spec can not be read");
    Findings {
        facts: vec![
            Fact::new(ACCEPTED, Truth::False, problem.reason, problem.message.clone()),
            pending(RESOLVED_REFS),
            Fact::new(READY, Truth::False, problem.reason, problem.message.clone()),
            Fact::new(RECONCILING, Truth::False, problem.reason, "the spec can not be read"),
            Fact::new(STALLED, Truth::True, problem.reason, problem.message),
        ],
        fields: Map::new(),
    }
}

/// A wrong spec needs a person: stalled. A missing reference may come by itself, for example in the next wave of a GitOps
/// tool: reconciling.
fn facts(validated: &Validated) -> Vec<Fact> {
    let told = |kind, result: &Result<(), Problem>, reason, message: &str| match result {
        Ok(()) => Fact::new(kind, Truth::True, reason, message),
        Err(problem) => Fact::new(kind, Truth::False, problem.reason, problem.message.clone()),
    };
    let accepted = told(ACCEPTED, &validated.spec, Reason::Accepted, "The spec is valid.");
    let resolved = told(RESOLVED_REFS, &validated.references, Reason::Resolved, "Everything that it names is there.");
    let mut facts = vec![accepted, resolved];
    facts.extend(match (&validated.spec, &validated.references) {
        (Ok(()), Ok(())) => [
            Fact::new(READY, Truth::True, Reason::Available, "It can be used."),
            Fact::new(RECONCILING, Truth::False, Reason::Reconciled, "The current spec is realised."),
            Fact::new(STALLED, Truth::False, Reason::Progressing, "Nothing waits for a person."),
        ],
        (Ok(()), Err(missing)) => [
            Fact::new(READY, Truth::False, Reason::WaitingForReferences, missing.message.clone()),
            Fact::new(RECONCILING, Truth::True, Reason::WaitingForReferences, missing.message.clone()),
            Fact::new(STALLED, Truth::False, Reason::Progressing, "It goes on when what it names is there."),
        ],
        (Err(mistake), _) => [
            Fact::new(READY, Truth::False, mistake.reason, mistake.message.clone()),
            Fact::new(RECONCILING, Truth::False, mistake.reason, "The spec must be corrected first."),
            Fact::new(STALLED, Truth::True, mistake.reason, mistake.message.clone()),
        ],
    });
    facts
}
