//! Conditions as apimachinery has them: pure, from what a reconciliation found.

use groundwork_crds::condition::Reason;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// Longest message that the API accepts.
const MESSAGE_BYTES: usize = 32 * 1024;

/// A condition's status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Truth {
    True,
    False,
    Unknown,
}

impl Truth {
    /// As conditions carry it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

/// What is found of one condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fact {
    pub(crate) kind: &'static str,
    pub(crate) truth: Truth,
    pub(crate) reason: Reason,
    /// Names the field and the fix.
    pub(crate) message: String,
}

impl Fact {
    pub(crate) fn new(kind: &'static str, truth: Truth, reason: Reason, message: impl Into<String>) -> Self {
        Self { kind, truth, reason, message: message.into() }
    }
}

/// The conditions that say these facts of a generation. A condition whose status stays keeps its time.
pub(crate) fn conditions(previous: &[Condition], facts: &[Fact], generation: i64, now: Timestamp) -> Vec<Condition> {
    let condition = |fact: &Fact| {
        let same = |old: &&Condition| old.type_ == fact.kind && old.status == fact.truth.name();
        Condition {
            type_: fact.kind.to_owned(),
            status: fact.truth.name().to_owned(),
            reason: fact.reason.name().to_owned(),
            message: shortened(&fact.message),
            observed_generation: Some(generation),
            last_transition_time: previous.iter().find(same).map_or(Time(now), |old| old.last_transition_time.clone()),
        }
    };
    facts.iter().map(condition).collect()
}

fn shortened(message: &str) -> String {
    let end = (0..=MESSAGE_BYTES.min(message.len())).rev().find(|end| message.is_char_boundary(*end));
    message[..end.unwrap_or(0)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use groundwork_crds::condition::READY;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_time_changes_with_the_status_only() {
        let waiting = [Fact::new(READY, Truth::False, Reason::WaitingForReferences, "no Secret")];
        let first = conditions(&[], &waiting, 1, at(1));
        let other_reason = [Fact::new(READY, Truth::False, Reason::Invalid, "another message")];
        let second = conditions(&first, &other_reason, 2, at(2));
        assert_eq!(second[0].last_transition_time, Time(at(1)));
        assert_eq!((second[0].reason.as_str(), second[0].observed_generation), ("Invalid", Some(2)));
        let ready = [Fact::new(READY, Truth::True, Reason::Available, "")];
        assert_eq!(conditions(&second, &ready, 2, at(3))[0].last_transition_time, Time(at(3)));
    }

    #[test]
    fn a_long_message_ends_at_a_character() {
        let text = "ü".repeat(MESSAGE_BYTES);
        let cut = shortened(&text);
        assert_eq!(cut.len(), MESSAGE_BYTES);
        assert_eq!(shortened("short"), "short");
    }
}
