use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use groundwork_config::Limits;
use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::{Refusal, Rule};

/// Callers that are remembered before those that may ask freely again are forgotten.
const REMEMBERED: usize = 10_000;

/// How often and how many at a time each caller may ask.
#[derive(Debug)]
pub struct Throttle {
    limits: Limits,
    rate: Option<DefaultKeyedRateLimiter<String>>,
    running: Arc<Mutex<HashMap<String, u32>>>,
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
        let quota = limits.requests_per_minute.and_then(NonZeroU32::new).map(Quota::per_minute);
        Self { limits: limits.clone(), rate: quota.map(RateLimiter::keyed), running: Arc::default() }
    }

    /// Lets a caller ask, or says how long to wait. A request that is refused for its concurrency counts for the rate.
    pub fn admit(&self, caller: &str) -> Result<Slot, Throttled> {
        self.check_rate(caller)?;
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let now = running.get(caller).copied().unwrap_or_default();
        if let Some(limit) = self.limits.concurrency.filter(|limit| now >= *limit) {
            let message = format!(
                "the policy lets a caller ask {limit} at a time (limits.concurrency): wait for one to be answered"
            );
            let refusal = Refusal { rule: Rule::Concurrency, message };
            return Err(Throttled { refusal, retry_after: Duration::from_secs(1) });
        }
        running.insert(caller.to_owned(), now + 1);
        Ok(Slot { caller: caller.to_owned(), running: Arc::clone(&self.running) })
    }

    fn check_rate(&self, caller: &str) -> Result<(), Throttled> {
        let Some(rate) = &self.rate else { return Ok(()) };
        if rate.len() > REMEMBERED {
            rate.retain_recent();
        }
        let Err(until) = rate.check_key(&caller.to_owned()) else { return Ok(()) };
        let retry_after = until.wait_time_from(DefaultClock::default().now());
        let limit = self.limits.requests_per_minute.unwrap_or_default();
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
    fn without_limits_nobody_waits() {
        let throttle = Throttle::new(&Limits::default());
        let slots: Vec<_> = (0..1000).map(|_| throttle.admit("alice").unwrap()).collect();
        assert_eq!(slots.len(), 1000);
    }
}
