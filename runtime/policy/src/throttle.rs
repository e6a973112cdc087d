use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use groundwork_config::Limits;
use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::{Refusal, Rule};

/// Callers that are remembered before those that may ask freely again are forgotten.
const REMEMBERED: usize = 10_000;

/// How long a rate that was changed goes on counting beside its successor: what was asked before the change counts for the
/// minute it was asked in.
const MINUTE: Duration = Duration::from_secs(60);

/// How often and how many at a time each caller may ask.
#[derive(Debug)]
pub struct Throttle {
    bounds: Mutex<Bounds>,
    running: Arc<Mutex<HashMap<String, u32>>>,
}

#[derive(Debug)]
struct Bounds {
    limits: Limits,
    rate: Option<Rate>,
    /// Rates of the minute before, with the end of their time.
    former: Vec<(Instant, Rate)>,
}

#[derive(Debug)]
struct Rate {
    per_minute: NonZeroU32,
    limiter: DefaultKeyedRateLimiter<String>,
}

/// A caller has to wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Throttled {
    /// The limit.
    pub refusal: Refusal,
    /// When asking again makes sense.
    pub retry_after: Duration,
}

/// A place among a caller's running requests; leaving scope frees it.
#[derive(Debug)]
pub struct Slot {
    caller: String,
    running: Arc<Mutex<HashMap<String, u32>>>,
}

impl Throttle {
    /// Nobody has asked yet.
    pub fn new(limits: &Limits) -> Self {
        let bounds = Bounds { limits: limits.clone(), rate: Rate::of(limits), former: Vec::new() };
        Self { bounds: Mutex::new(bounds), running: Arc::default() }
    }

    /// Other limits hold from now on. What callers asked before still counts: a stricter limit is kept at once, a wider one is
    /// there in full after a minute.
    pub fn change(&self, limits: &Limits) {
        let mut bounds = self.bounds.lock().unwrap_or_else(PoisonError::into_inner);
        if bounds.limits == *limits {
            return;
        }
        if bounds.limits.requests_per_minute != limits.requests_per_minute {
            let before = std::mem::replace(&mut bounds.rate, Rate::of(limits));
            bounds.former.extend(before.map(|rate| (Instant::now() + MINUTE, rate)));
        }
        bounds.limits = limits.clone();
    }

    /// Lets a caller ask, or says how long to wait. A request that is refused for its concurrency counts for the rate.
    pub fn admit(&self, caller: &str) -> Result<Slot, Throttled> {
        let mut bounds = self.bounds.lock().unwrap_or_else(PoisonError::into_inner);
        bounds.check_rate(caller)?;
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let now = running.get(caller).copied().unwrap_or_default();
        if let Some(limit) = bounds.limits.concurrency.filter(|limit| now >= *limit) {
            let message = format!(
                "the policy lets a caller ask {limit} at a time (limits.concurrency): wait for one to be answered"
            );
            let refusal = Refusal { rule: Rule::Concurrency, message };
            return Err(Throttled { refusal, retry_after: Duration::from_secs(1) });
        }
        running.insert(caller.to_owned(), now + 1);
        Ok(Slot { caller: caller.to_owned(), running: Arc::clone(&self.running) })
    }
}

impl Bounds {
    fn check_rate(&mut self, caller: &str) -> Result<(), Throttled> {
        let now = Instant::now();
        self.former.retain(|(until, _)| now < *until);
        self.former.iter().map(|(_, rate)| rate).chain(&self.rate).try_for_each(|rate| rate.check(caller))
    }
}

impl Rate {
    fn of(limits: &Limits) -> Option<Self> {
        let per_minute = limits.requests_per_minute.and_then(NonZeroU32::new)?;
        Some(Self { per_minute, limiter: RateLimiter::keyed(Quota::per_minute(per_minute)) })
    }

    fn check(&self, caller: &str) -> Result<(), Throttled> {
        if self.limiter.len() > REMEMBERED {
            self.limiter.retain_recent();
        }
        let Err(until) = self.limiter.check_key(&caller.to_owned()) else { return Ok(()) };
        let retry_after = until.wait_time_from(DefaultClock::default().now());
        let limit = self.per_minute;
        let message = format!(
            "the policy lets a caller ask {limit} times a minute (limits.requestsPerMinute): try again in {} s",
            retry_after.as_secs() + 1
        );
        Err(Throttled { refusal: Refusal { rule: Rule::RequestsPerMinute, message }, retry_after })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        match running.get_mut(&self.caller) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(running.remove(&self.caller)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_caller_has_a_rate_of_her_own() {
        let throttle = Throttle::new(&Limits { requests_per_minute: Some(2), ..Limits::default() });
        assert!(throttle.admit("alice").is_ok() && throttle.admit("alice").is_ok());
        let throttled = throttle.admit("alice").unwrap_err();
        assert_eq!(throttled.refusal.rule, Rule::RequestsPerMinute);
        // Two a minute: the next one is due at most 30 s later.
        assert!(throttled.retry_after > Duration::from_secs(25) && throttled.retry_after <= Duration::from_secs(30));
        assert!(throttle.admit("bob").is_ok());
    }

    #[test]
    fn each_caller_has_places_of_her_own_that_are_freed() {
        let throttle = Throttle::new(&Limits { concurrency: Some(1), ..Limits::default() });
        let slot = throttle.admit("alice").unwrap();
        assert_eq!(throttle.admit("alice").unwrap_err().refusal.rule, Rule::Concurrency);
        assert!(throttle.admit("bob").is_ok());
        drop(slot);
        assert!(throttle.admit("alice").is_ok());
        assert!(throttle.running.lock().unwrap().is_empty(), "nobody is kept");
    }

    #[test]
    fn a_change_of_the_limits_is_never_a_fresh_start() {
        let limits =
            |requests_per_minute, concurrency| Limits { requests_per_minute, concurrency, ..Limits::default() };
        let rule = |throttle: &Throttle| throttle.admit("alice").map(drop).map_err(|throttled| throttled.refusal.rule);
        let throttle = Throttle::new(&limits(Some(2), None));
        assert_eq!(rule(&throttle), Ok(()));
        throttle.change(&limits(Some(1), None));
        assert_eq!(rule(&throttle), Ok(()));
        assert_eq!(rule(&throttle), Err(Rule::RequestsPerMinute));
        for wider in [limits(Some(100), None), limits(None, None)] {
            throttle.change(&wider);
            assert_eq!(rule(&throttle), Err(Rule::RequestsPerMinute));
        }
        throttle.bounds.lock().unwrap().former.iter_mut().for_each(|(until, _)| *until = Instant::now());
        let running = throttle.admit("alice").expect("a minute later nothing is left of what was");
        throttle.change(&limits(None, Some(1)));
        assert_eq!(rule(&throttle), Err(Rule::Concurrency), "who was let in before is counted");
        drop(running);
        assert_eq!(rule(&throttle), Ok(()));
    }

    #[test]
    fn without_limits_nobody_waits() {
        let throttle = Throttle::new(&Limits::default());
        let slots: Vec<_> = (0..1000).map(|_| throttle.admit("alice").unwrap()).collect();
        assert_eq!(slots.len(), 1000);
    }
}
