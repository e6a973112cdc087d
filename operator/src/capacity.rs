//! How many ingestions run at a time, in all and in a namespace, and who is next.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Mutex, PoisonError};

/// Namespace and name of a knowledge base.
pub(crate) type Key = (String, String);

/// Places for ingestions. A place is taken before a Job is made, so that two reconciliations at the same time do not take the
/// last one twice; Jobs that were there before are counted, too.
pub(crate) struct Capacity {
    in_all: usize,
    in_namespace: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Those whose Job was, or is about to be, made by this process.
    taken: BTreeSet<Key>,
    waiting: VecDeque<Key>,
}

impl Capacity {
    pub(crate) fn new(in_all: usize, in_namespace: usize) -> Self {
        Self { in_all, in_namespace, state: Mutex::default() }
    }

    /// Takes a place, where `running` are those whose Job is known to run; else puts the key into the queue.
    pub(crate) fn take(&self, key: &Key, running: impl Iterator<Item = Key>) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.taken.contains(key) {
            return true;
        }
        let busy: BTreeSet<Key> = state.taken.iter().cloned().chain(running).filter(|other| other != key).collect();
        let in_namespace = busy.iter().filter(|other| other.0 == key.0).count();
        if busy.len() < self.in_all && in_namespace < self.in_namespace {
            state.waiting.retain(|other| other != key);
            state.taken.insert(key.clone());
            return true;
        }
        if !state.waiting.contains(key) {
            state.waiting.push_back(key.clone());
        }
        false
    }

    /// Gives a place back: nothing of this knowledge base runs. Who may try next.
    pub(crate) fn give_back(&self, key: &Key) -> Vec<Key> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.taken.remove(key) {
            return Vec::new();
        }
        // The first of another namespace, too: the first of all may wait for its own namespace.
        let first = state.waiting.front().cloned();
        let other = first.as_ref().and_then(|first| state.waiting.iter().find(|other| other.0 != first.0)).cloned();
        first.into_iter().chain(other).collect()
    }

    /// Takes a knowledge base out of the queue that is gone or has nothing to do any more.
    pub(crate) fn forget(&self, key: &Key) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).waiting.retain(|other| other != key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::iter::empty;

    fn key(namespace: &str, name: &str) -> Key {
        (namespace.to_owned(), name.to_owned())
    }

    #[test]
    fn places_are_bounded_in_all_and_in_a_namespace() {
        let capacity = Capacity::new(3, 2);
        assert!(capacity.take(&key("a", "1"), empty()) && capacity.take(&key("a", "2"), empty()));
        assert!(!capacity.take(&key("a", "3"), empty()), "two of the namespace");
        assert!(capacity.take(&key("a", "2"), empty()), "it has its place");
        assert!(capacity.take(&key("b", "1"), empty()));
        assert!(!capacity.take(&key("c", "1"), empty()), "three in all");
    }

    #[test]
    fn jobs_that_were_there_before_count_once() {
        let capacity = Capacity::new(2, 2);
        let running = || [key("a", "1"), key("a", "2")].into_iter();
        assert!(!capacity.take(&key("b", "1"), running()));
        assert!(capacity.take(&key("a", "1"), running()), "its own Job is no other's");
    }

    #[test]
    fn the_first_that_waits_is_told_and_one_of_another_namespace() {
        let capacity = Capacity::new(1, 1);
        assert!(capacity.take(&key("a", "1"), empty()));
        for waiting in [key("a", "2"), key("a", "3"), key("b", "1")] {
            assert!(!capacity.take(&waiting, empty()));
        }
        assert_eq!(capacity.give_back(&key("a", "1")), [key("a", "2"), key("b", "1")]);
        assert_eq!(capacity.give_back(&key("a", "1")), [], "it has no place to give back");
        capacity.forget(&key("a", "2"));
        assert!(capacity.take(&key("a", "3"), empty()));
        assert_eq!(capacity.give_back(&key("a", "3")), [key("b", "1")]);
    }
}
