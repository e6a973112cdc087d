use std::collections::HashMap;
use std::time::Duration;

use super::{Call, Verb};

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The API server never hears of it; the answer is this status.
    Refuse {
        /// HTTP status.
        status: u16,
        /// Seconds of the header `Retry-After`.
        retry_after: Option<u32>,
    },
    /// It is carried out, then the connection is cut.
    LoseAnswer,
    /// It is carried out, and answered with this status, as gateways do that lost patience.
    Misreport {
        /// HTTP status.
        status: u16,
    },
    /// The connection is cut before the API server hears of it.
    CutBefore,
    /// It is sent on only after a time.
    Delay(Duration),
    /// It is accepted and never answered. Watches that are open fall silent.
    Silent,
    /// It is carried out, and the operator gets SIGKILL instead of the answer.
    Kill,
    /// A watch's connection is cut so long after it began, in the middle of the answer.
    CutWatch(Duration),
    /// A watch stays open and says nothing more, also one that is open already.
    FreezeWatch,
    /// A list is answered with what the last one like it was answered with, as by a server that lags behind.
    OldList,
    /// A watch is told that its version is too old: 410 as an event, which is how the API server says so.
    ExpireWatch,
}

/// Which requests a rule is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pattern {
    /// Verbs; none is all.
    pub verbs: Vec<Verb>,
    /// The only resource.
    pub resource: Option<String>,
    /// A resource that is left alone.
    pub except: Option<String>,
    /// The only name.
    pub name: Option<String>,
}

/// Which of the requests that match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// All of them.
    All,
    /// The n-th alone, from 1.
    Only(usize),
    /// Of equal calls the first.
    First,
    /// Of equal calls the first, the third and so on: whatever is tried again passes.
    EveryOther,
}

/// What happens to which requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Requests.
    pub on: Pattern,
    /// Which of them.
    pub times: Times,
    /// What happens.
    pub fault: Fault,
}

impl Pattern {
    /// Every request.
    pub fn all() -> Self {
        Self::default()
    }

    /// Every change but those of the lease.
    pub fn writes() -> Self {
        let verbs = vec![Verb::Create, Verb::Update, Verb::Patch, Verb::Delete, Verb::DeleteCollection];
        Self { verbs, ..Self::all() }.but("leases")
    }

    /// Every watch.
    pub fn watches() -> Self {
        Self { verbs: vec![Verb::Watch], ..Self::all() }
    }

    /// Of these the ones about a resource.
    #[must_use]
    pub fn of(self, resource: &str) -> Self {
        Self { resource: Some(resource.to_owned()), ..self }
    }

    /// Of these all but the ones about a resource.
    #[must_use]
    pub fn but(self, resource: &str) -> Self {
        Self { except: Some(resource.to_owned()), ..self }
    }

    /// Of these the ones about an object of this name.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Self { name: Some(name.to_owned()), ..self }
    }

    /// Whether a request is one of these.
    pub fn matches(&self, call: &Call) -> bool {
        (self.verbs.is_empty() || self.verbs.contains(&call.verb))
            && self.resource.as_ref().is_none_or(|resource| *resource == call.resource)
            && self.name.as_ref().is_none_or(|name| *name == call.name)
            && self.except.as_ref().is_none_or(|resource| *resource != call.resource)
    }
}

impl Rule {
    /// The same to every request of a pattern.
    pub fn always(on: Pattern, fault: Fault) -> Self {
        Self { on, times: Times::All, fault }
    }
}

/// Rules with what they have seen.
#[derive(Debug, Default)]
pub(super) struct Rules(Vec<Counted>);

#[derive(Debug)]
struct Counted {
    rule: Rule,
    seen: usize,
    of_each: HashMap<Call, usize>,
}

impl Rules {
    pub(super) fn new(rules: Vec<Rule>) -> Self {
        Self(rules.into_iter().map(|rule| Counted { rule, seen: 0, of_each: HashMap::new() }).collect())
    }

    /// What happens to a new request: what the first rule says that is due. Every rule that matches counts it.
    pub(super) fn fault(&mut self, call: &Call) -> Option<Fault> {
        let matching = self.0.iter_mut().filter(|counted| counted.rule.on.matches(call));
        let due: Vec<_> = matching.filter_map(|counted| counted.due(call)).collect();
        due.first().copied()
    }

    /// What happens to a watch that is open: counts nothing, so only rules about all requests say anything.
    pub(super) fn fault_of_open(&self, call: &Call) -> Option<Fault> {
        let rules = self.0.iter().map(|counted| &counted.rule);
        let mut rules = rules.filter(|rule| rule.times == Times::All && rule.on.matches(call));
        rules.next().map(|rule| rule.fault)
    }
}

impl Counted {
    fn due(&mut self, call: &Call) -> Option<Fault> {
        self.seen += 1;
        let due = match self.rule.times {
            Times::All => true,
            Times::Only(number) => self.seen == number,
            Times::First => self.tries(call) == 1,
            Times::EveryOther => self.tries(call) % 2 == 1,
        };
        due.then_some(self.rule.fault)
    }

    fn tries(&mut self, call: &Call) -> usize {
        let tries = self.of_each.entry(call.clone()).or_default();
        *tries += 1;
        *tries
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Method;

    fn call(method: Method, path: &str) -> Call {
        Call::parse(&method, &path.parse().unwrap())
    }

    #[test]
    fn the_nth_write_is_counted_without_reads_and_leases() {
        let mut rules =
            Rules::new(vec![Rule { on: Pattern::writes(), times: Times::Only(2), fault: Fault::LoseAnswer }]);
        let first = call(Method::PATCH, "/apis/g/v1/namespaces/n/things/a/status");
        let lease = call(Method::PUT, "/apis/coordination.k8s.io/v1/namespaces/n/leases/l");
        let read = call(Method::GET, "/apis/g/v1/namespaces/n/things/a");
        let told: Vec<_> = [&first, &lease, &read, &first, &first].map(|call| rules.fault(call)).into();
        assert_eq!(told, [None, None, None, Some(Fault::LoseAnswer), None]);
    }

    #[test]
    fn whatever_is_tried_again_passes() {
        let refuse = Fault::Refuse { status: 500, retry_after: None };
        let mut rules = Rules::new(vec![Rule { on: Pattern::writes(), times: Times::EveryOther, fault: refuse }]);
        let [a, b] =
            ["a", "b"].map(|name| call(Method::PATCH, &format!("/apis/g/v1/namespaces/n/things/{name}/status")));
        let told: Vec<_> = [&a, &b, &a, &b, &a].map(|call| rules.fault(call).is_some()).into();
        assert_eq!(told, [true, true, false, false, true]);
    }
}
