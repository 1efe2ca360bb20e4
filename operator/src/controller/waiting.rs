//! Which Memcacheds wait for their reconcile.
//!
//! kube-runtime's queue cannot be asked for its depth, so waiting is measured at the controller's own edge: from the
//! moment a watch names a Memcached to the moment its reconcile begins.

use super::cache::Key;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The Memcacheds that wait, each with the time since when.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    since: Mutex<HashMap<Key, Instant>>,
}

impl Waiting {
    fn since(&self) -> MutexGuard<'_, HashMap<Key, Instant>> {
        self.since.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many wait.
    pub(super) fn depth(&self) -> usize {
        self.since().len()
    }

    /// A Memcached waits from now on, if it does not already.
    pub(super) fn add(&self, key: Key) {
        self.since().entry(key).or_insert_with(Instant::now);
    }

    /// A Memcached waits no longer; how long it did. Nothing where it did not wait, as after a failure.
    pub(super) fn remove(&self, key: &Key) -> Option<Duration> {
        self.since().remove(key).map(|since| since.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_is_named_twice_waits_once() {
        let key = |name: &str| Key { namespace: "ns".into(), name: name.into() };
        let waiting = Waiting::default();
        for name in ["a", "a", "b"] {
            waiting.add(key(name));
        }
        assert_eq!(waiting.depth(), 2);
        assert!(waiting.remove(&key("a")).is_some());
        assert_eq!(waiting.remove(&key("a")), None);
        assert_eq!(waiting.depth(), 1);
    }
}
