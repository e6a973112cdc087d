//! When an object whose reconciliation failed is tried again: exponential with jitter, apart for each object.

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(300);

/// The failures in a row of each object of a kind.
#[derive(Debug)]
pub(crate) struct Backoffs<K> {
    running: Mutex<HashMap<K, ExponentialBackoff>>,
}

impl<K: Hash + Eq> Backoffs<K> {
    pub(crate) fn new() -> Self {
        Self { running: Mutex::new(HashMap::new()) }
    }

    /// How long to wait after one more failure: about 1 s, 2 s, 4 s and so on up to 5 min, each with up to as much again.
    pub(crate) fn failed(&self, key: K) -> Duration {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.entry(key).or_insert_with(backoff).next().unwrap_or(LONGEST)
    }

    /// Forgets the failures.
    pub(crate) fn succeeded(&self, key: &K) {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

fn backoff() -> ExponentialBackoff {
    ExponentialBuilder::default()
        .with_min_delay(FIRST)
        .with_max_delay(LONGEST)
        .with_jitter()
        .without_max_times()
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_apart_for_each_object_up_to_a_cap_and_start_anew() {
        let backoffs = Backoffs::new();
        let waits: Vec<_> = (0..12).map(|_| backoffs.failed("a")).collect();
        for (index, wait) in waits.iter().enumerate() {
            let plain = FIRST.saturating_mul(1 << index).min(LONGEST);
            assert!(*wait >= plain && *wait <= plain * 2, "{index}: {wait:?}");
        }
        assert!(backoffs.failed("b") <= FIRST * 2);
        backoffs.succeeded(&"a");
        assert!(backoffs.failed("a") <= FIRST * 2);
    }
}
