//! What the conditions say of a spec and of what it names. Pure, and the same for every kind.

use groundwork_crds::condition::{ACCEPTED, READY, RECONCILING, RESOLVED_REFS, Reason, STALLED};

use crate::conditions::{Fact, Truth};

/// A mistake, with a message that names the field and the fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) reason: Reason,
    pub(crate) message: String,
}

impl Problem {
    pub(crate) fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }
}

/// What is right and wrong about an object that owns nothing: it is ready as soon as nothing is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// The spec by itself.
    pub(crate) spec: Result<(), Problem>,
    /// What it names.
    pub(crate) references: Result<(), Problem>,
}

impl Verdict {
    /// A wrong spec needs a person: stalled. A missing reference may come by itself, for example in the next wave of a
    /// GitOps tool: reconciling.
    pub(crate) fn facts(&self) -> Vec<Fact> {
        let told = |kind, result: &Result<(), Problem>, reason, message: &str| match result {
            Ok(()) => Fact::new(kind, Truth::True, reason, message),
            Err(problem) => Fact::new(kind, Truth::False, problem.reason, problem.message.clone()),
        };
        let accepted = told(ACCEPTED, &self.spec, Reason::Accepted, "The spec is valid.");
        let named = "Everything that it names is there.";
        let resolved = told(RESOLVED_REFS, &self.references, Reason::Resolved, named);
        [accepted, resolved].into_iter().chain(self.progress()).collect()
    }

    fn progress(&self) -> [Fact; 3] {
        match (&self.spec, &self.references) {
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
            (Err(mistake), _) => stopped(mistake, "The spec must be corrected first."),
        }
    }
}

/// What is said of an object whose spec this version cannot read.
pub(crate) fn undecodable(error: &str) -> Vec<Fact> {
    let message =
        format!("the stored spec can not be read ({error}); upgrade the operator or remove what it does not know");
    let problem = Problem::new(Reason::Undecodable, message);
    let accepted = Fact::new(ACCEPTED, Truth::False, problem.reason, problem.message.clone());
    let resolved = Fact::new(RESOLVED_REFS, Truth::Unknown, Reason::Pending, "The spec can not be read.");
    [accepted, resolved].into_iter().chain(stopped(&problem, "The spec can not be read.")).collect()
}

fn stopped(problem: &Problem, reconciling: &str) -> [Fact; 3] {
    [
        Fact::new(READY, Truth::False, problem.reason, problem.message.clone()),
        Fact::new(RECONCILING, Truth::False, problem.reason, reconciling),
        Fact::new(STALLED, Truth::True, problem.reason, problem.message.clone()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(verdict: &Verdict) -> Vec<(&'static str, Truth)> {
        verdict.facts().iter().map(|fact| (fact.kind, fact.truth)).collect()
    }

    #[test]
    fn a_wrong_spec_stalls_and_a_missing_reference_is_waited_for() {
        let problem = || Err(Problem::new(Reason::Invalid, "spec.model: fix it"));
        let fine = told(&Verdict { spec: Ok(()), references: Ok(()) });
        let truths = |facts: Vec<(&str, Truth)>| facts.into_iter().map(|(_, truth)| truth).collect::<Vec<_>>();
        use Truth::{False, True};
        assert_eq!(
            fine.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(),
            [ACCEPTED, RESOLVED_REFS, READY, RECONCILING, STALLED]
        );
        assert_eq!(truths(fine), [True, True, True, False, False]);
        let waiting = told(&Verdict { spec: Ok(()), references: problem() });
        assert_eq!(truths(waiting), [True, False, False, True, False]);
        let wrong = told(&Verdict { spec: problem(), references: Ok(()) });
        assert_eq!(truths(wrong), [False, True, False, False, True]);
        assert_eq!(undecodable("unknown field").len(), 5);
    }
}
