use groundwork_config::{Limits, Prices};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

use crate::{Refusal, Rule};

/// A reply shorter than this is of no use, so a call that could not have as much is not made.
const SHORTEST_REPLY: u64 = 64;
const PER_MILLION: u128 = 1_000_000;

/// What one run may still use. Whoever shares it shares the limits.
#[derive(Debug)]
pub struct Budget {
    limits: Limits,
    deadline: Instant,
    used: Mutex<Used>,
}

/// What calls have used, and what calls under way may use at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Used {
    tokens: u64,
    cost_micros: u64,
}

/// A call of a model that is about to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Tokens of the prompt, or an estimate.
    pub input_tokens: u64,
    /// Upper bound of the reply in tokens.
    pub output_tokens: u64,
    /// What the model costs; `None` is free as far as anybody knows.
    pub prices: Option<Prices>,
}

impl Budget {
    /// A fresh budget of a run that begins now.
    pub fn new(limits: &Limits) -> Self {
        let deadline = Instant::now() + Duration::from_millis(limits.wall_clock_ms);
        Self { limits: limits.clone(), deadline, used: Mutex::default() }
    }

    /// When the run ends, whatever it does.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// The refusal of a run that is out of time.
    pub fn out_of_time(&self) -> Refusal {
        let seconds = self.limits.wall_clock_ms as f64 / 1000.0;
        Refusal {
            rule: Rule::WallClock,
            message: format!("the policy gives a question {seconds} s (limits.wallClockSeconds), and they are over"),
        }
    }

    /// Takes what a call may use at most out of the budget. A reply that would pass a limit is shortened to what is left.
    ///
    /// # Errors
    /// The first limit, in the order of [`Rule`], that leaves no room for the prompt and a short reply.
    pub fn reserve(&self, call: Call) -> Result<Permit<'_>, Refusal> {
        if Instant::now() >= self.deadline {
            return Err(self.out_of_time());
        }
        let mut used = self.used();
        let output_tokens = by_tokens(&self.limits, *used, call)?.min(by_cost(&self.limits, *used, call)?);
        let call = Call { output_tokens, ..call };
        let reserved = Used { tokens: call.input_tokens.saturating_add(output_tokens), cost_micros: call.cost() };
        used.add(reserved);
        Ok(Permit { budget: self, call, reserved, settled: false })
    }

    fn used(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The longest reply that the limit of tokens leaves room for.
fn by_tokens(limits: &Limits, used: Used, call: Call) -> Result<u64, Refusal> {
    let Some(limit) = limits.tokens else { return Ok(call.output_tokens) };
    let left = limit.saturating_sub(used.tokens);
    let longest = left.checked_sub(call.input_tokens);
    longest.and_then(|longest| enough(longest, call)).ok_or_else(|| Refusal {
        rule: Rule::Tokens,
        message: format!(
            "the policy gives a question {limit} tokens (limits.tokens): {left} are left, and the next call of the model \
             needs {} for its prompt and a short reply",
            call.input_tokens + SHORTEST_REPLY
        ),
    })
}

/// The longest reply that the limit of cost leaves room for.
fn by_cost(limits: &Limits, used: Used, call: Call) -> Result<u64, Refusal> {
    let (Some(limit), Some(prices)) = (limits.cost_micros, call.prices) else { return Ok(call.output_tokens) };
    let left = limit.saturating_sub(used.cost_micros);
    let prompt = Call { output_tokens: 0, ..call }.cost();
    let for_reply = left.checked_sub(prompt);
    let longest = for_reply.map(|micros| {
        let price = u128::from(prices.output_micros_per_million);
        let tokens = (u128::from(micros) * PER_MILLION).checked_div(price);
        tokens.map_or(u64::MAX, |tokens| u64::try_from(tokens).unwrap_or(u64::MAX))
    });
    longest.and_then(|longest| enough(longest, call)).ok_or_else(|| Refusal {
        rule: Rule::Cost,
        message: format!(
            "the policy gives a question a cost of {} (limits.cost): {} is left, and the next call of the model may cost \
             more",
            decimal(limit),
            decimal(left)
        ),
    })
}

/// The reply's bound, shortened to what there is room for; none where that is too short to be of use.
fn enough(longest: u64, call: Call) -> Option<u64> {
    let wanted = call.output_tokens.min(longest);
    (wanted >= SHORTEST_REPLY.min(call.output_tokens)).then_some(wanted)
}

/// Millionths as a decimal without trailing zeros.
fn decimal(micros: u64) -> String {
    let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl Call {
    /// Cost in millionths of the currency unit, rounded up: a reservation is never too small.
    fn cost(&self) -> u64 {
        let Some(prices) = self.prices else { return 0 };
        let part = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
        let sum = part(self.input_tokens, prices.input_micros_per_million)
            .saturating_add(part(self.output_tokens, prices.output_micros_per_million));
        u64::try_from(sum.div_ceil(PER_MILLION)).unwrap_or(u64::MAX)
    }
}

impl Used {
    fn add(&mut self, other: Self) {
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.cost_micros = self.cost_micros.saturating_add(other.cost_micros);
    }

    fn subtract(&mut self, other: Self) {
        self.tokens = self.tokens.saturating_sub(other.tokens);
        self.cost_micros = self.cost_micros.saturating_sub(other.cost_micros);
    }
}

/// The right to make one call. One that is dropped without being settled keeps its whole reservation: a call that broke may
/// have been billed.
#[derive(Debug)]
#[must_use]
pub struct Permit<'a> {
    budget: &'a Budget,
    call: Call,
    reserved: Used,
    settled: bool,
}

impl Permit<'_> {
    /// Upper bound of the reply in tokens, at most what was asked for.
    pub fn output_tokens(&self) -> u64 {
        self.call.output_tokens
    }

    /// Puts what the call used in the place of what it might have used. More than that is charged, too.
    pub fn settle(mut self, input_tokens: u64, output_tokens: u64) {
        let actual = Call { input_tokens, output_tokens, ..self.call };
        let tokens = input_tokens.saturating_add(output_tokens);
        let mut used = self.budget.used();
        used.subtract(self.reserved);
        used.add(Used { tokens, cost_micros: actual.cost() });
        self.settled = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn limits(tokens: Option<u64>, cost_micros: Option<u64>) -> Limits {
        Limits { tokens, cost_micros, ..Limits::default() }
    }

    fn call(input_tokens: u64, output_tokens: u64) -> Call {
        Call { input_tokens, output_tokens, prices: None }
    }

    #[test]
    fn replies_are_shortened_and_at_last_calls_are_refused() {
        let budget = Budget::new(&limits(Some(1000), None));
        let permit = budget.reserve(call(300, 500)).unwrap();
        assert_eq!(permit.output_tokens(), 500);
        permit.settle(310, 90);
        let permit = budget.reserve(call(400, 500)).unwrap();
        assert_eq!(permit.output_tokens(), 200);
        permit.settle(400, 150);
        let refusal = budget.reserve(call(1, 500)).unwrap_err();
        assert_eq!(refusal.rule, Rule::Tokens);
        assert!(refusal.message.contains("1000 tokens") && refusal.message.contains("50 are left"), "{refusal}");
    }

    #[test]
    fn what_a_broken_call_may_have_used_is_gone() {
        let budget = Budget::new(&limits(Some(1000), None));
        drop(budget.reserve(call(400, 500)).unwrap());
        assert_eq!(budget.reserve(call(50, 500)).unwrap_err().rule, Rule::Tokens);
    }

    // 2 per million in, 10 per million out: 10,000 in cost 0.02, and 0.03 more is 3,000 out.
    #[test]
    fn cost_is_bounded_by_prices() {
        let prices = Prices { input_micros_per_million: 2_000_000, output_micros_per_million: 10_000_000 };
        let priced = |input, output| Call { prices: Some(prices), ..call(input, output) };
        let budget = Budget::new(&limits(None, Some(50_000)));
        let permit = budget.reserve(priced(10_000, 8_000)).unwrap();
        assert_eq!(permit.output_tokens(), 3_000);
        permit.settle(10_000, 1_000);
        let refusal = budget.reserve(priced(10_000, 100)).unwrap_err();
        assert_eq!(refusal.rule, Rule::Cost);
        assert!(refusal.message.contains("cost of 0.05 (limits.cost): 0.02 is left"), "{refusal}");
        assert!(budget.reserve(call(10_000, 100)).is_ok(), "a free model costs nothing");
    }

    #[test]
    fn nothing_is_begun_after_the_deadline() {
        let budget = Budget::new(&Limits { wall_clock_ms: 0, ..Limits::default() });
        let refusal = budget.reserve(call(1, 1)).unwrap_err();
        assert_eq!(refusal.rule, Rule::WallClock);
        assert!(refusal.message.contains("limits.wallClockSeconds"), "{refusal}");
    }

    #[test]
    fn a_prompt_alone_may_pass_no_limit() {
        let budget = Budget::new(&limits(Some(10), None));
        assert_eq!(budget.reserve(call(11, 0)).unwrap_err().rule, Rule::Tokens);
        assert!(budget.reserve(call(10, 0)).is_ok());
    }

    proptest! {
        /// Whatever calls are made, none is permitted that could pass a limit, if models keep to their bound.
        #[test]
        fn no_limit_is_ever_passed(
            tokens in 0u64..5000,
            cost in 0u64..5000,
            calls in prop::collection::vec((0u64..2000, 0u64..2000, 0.0f64..=1.0, any::<bool>()), 0..20),
        ) {
            let prices = Prices { input_micros_per_million: 1_500_000, output_micros_per_million: 700_001 };
            let budget = Budget::new(&limits(Some(tokens), Some(cost)));
            for (input, output, share, settles) in calls {
                let wanted = Call { input_tokens: input, output_tokens: output, prices: Some(prices) };
                if let Ok(permit) = budget.reserve(wanted) {
                    prop_assert!(permit.output_tokens() <= output);
                    let replied = (permit.output_tokens() as f64 * share) as u64;
                    if settles {
                        permit.settle(input, replied);
                    }
                }
                let used = *budget.used();
                prop_assert!(used.tokens <= tokens && used.cost_micros <= cost, "{used:?}");
            }
        }
    }
}
