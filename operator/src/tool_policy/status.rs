//! What the status says. Pure.

use groundwork_config::{Limits, Policy};
use groundwork_crds::{CompiledLimit, Layer, UserRef};
use serde_json::json;

use crate::report::Findings;
use crate::users;
use crate::verdict::{Problem, Verdict};

pub(super) fn status(compiled: &Result<Policy, Problem>, users: &[UserRef]) -> Findings {
    let spec = compiled.as_ref().map(|_| ()).map_err(Clone::clone);
    let mut fields = users::fields(users);
    if let Ok(policy) = compiled {
        fields.insert("compiledTo".into(), json!(compiled_to(&policy.limits)));
    }
    Findings { facts: Verdict { spec, references: Ok(()) }.facts(), fields }
}

/// Every limit in force, in the order of the fields.
fn compiled_to(limits: &Limits) -> Vec<CompiledLimit> {
    let Limits { wall_clock_ms, tokens, cost_micros, requests_per_minute, concurrency } = limits;
    let all = [
        ("wallClockSeconds", Some(format!("{} s a question", wall_clock_ms / 1000))),
        ("tokens", tokens.map(|tokens| format!("{tokens} tokens a question"))),
        ("cost", cost_micros.map(|micros| format!("{} millionths of the currency unit a question", micros))),
        ("requestsPerMinute", requests_per_minute.map(|count| format!("{count} a minute and caller"))),
        ("concurrency", concurrency.map(|count| format!("{count} at a time and caller"))),
    ];
    let limit = |(field, value): (&str, Option<String>)| {
        Some(CompiledLimit { field: format!("spec.limits.{field}"), value: value?, layer: Layer::Runtime })
    };
    all.into_iter().filter_map(limit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_in_force_are_told_with_their_defaults() {
        let fields = |limits: &Limits| compiled_to(limits).into_iter().map(|limit| limit.field).collect::<Vec<_>>();
        assert_eq!(fields(&Limits::default()), ["spec.limits.wallClockSeconds"]);
        let all = Limits {
            tokens: Some(1),
            cost_micros: Some(1),
            requests_per_minute: Some(1),
            concurrency: Some(1),
            ..Limits::default()
        };
        assert_eq!(fields(&all).len(), 5);
    }
}
