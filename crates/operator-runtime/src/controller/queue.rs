//! Which objects are queued.
//!
//! kube-runtime's queue does not expose its depth, so the time in the queue is measured at the controller's own edge:
//! from the moment a watch queues an object until its reconcile begins.

use super::object::Key;
use crate::lock::lock;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;
use tokio::time::Instant;

/// The queued objects, each with the time since when.
#[derive(Debug, Default)]
pub(crate) struct ObjectQueue {
    since: Mutex<HashMap<Key, Instant>>,
}

impl ObjectQueue {
    fn since(&self) -> MutexGuard<'_, HashMap<Key, Instant>> {
        lock(&self.since)
    }

    /// Returns how many are queued.
    pub(crate) fn depth(&self) -> usize {
        self.since().len()
    }

    /// Adds an object, if it is not queued already.
    pub(crate) fn add(&self, key: Key) {
        self.since().entry(key).or_insert_with(Instant::now);
    }

    /// Removes an object and returns how long it was queued; `None` if it was not, as after a failure.
    pub(crate) fn remove(&self, key: &Key) -> Option<Duration> {
        self.since().remove(key).map(|since| since.elapsed())
    }

    /// Removes all that are not to be kept.
    pub(crate) fn retain(&self, keep: impl Fn(&Key) -> bool) {
        self.since().retain(|key, _| keep(key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_that_is_added_twice_is_queued_once() {
        let key = |name: &str| Key { namespace: "ns".into(), name: name.into() };
        let queued = ObjectQueue::default();
        for name in ["a", "a", "b"] {
            queued.add(key(name));
        }
        assert_eq!(queued.depth(), 2);
        assert!(queued.remove(&key("a")).is_some());
        assert_eq!(queued.remove(&key("a")), None);
        assert_eq!(queued.depth(), 1);
    }
}
