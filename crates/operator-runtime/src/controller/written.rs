//! What the API server returned for the controller's own writes.

use super::key::Key;
use super::live::version_of;
use kube::Resource;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Objects as the API server returned them for the controller's own writes, until the watch has caught up.
pub(crate) struct Written<O> {
    state: Mutex<Responses<O>>,
}

impl<O> Default for Written<O> {
    fn default() -> Self {
        Self { state: Mutex::new(Responses { newest: HashMap::new(), lists: 0 }) }
    }
}

struct Responses<O> {
    /// Each with the list since which it is known.
    newest: HashMap<Key, (u64, Arc<O>)>,
    /// How many lists have begun.
    lists: u64,
}

impl<O: Resource> Written<O> {
    fn state(&self) -> MutexGuard<'_, Responses<O>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a response.
    pub(crate) fn put(&self, response: Arc<O>) {
        let mut state = self.state();
        let list = state.lists;
        state.newest.insert(Key::of(response.meta()), (list, response));
    }

    /// Returns the newer one of the stored object and of what a write returned.
    pub(crate) fn newest(&self, key: &Key, stored: &Arc<O>) -> Arc<O> {
        let state = self.state();
        let newer = |response: &&Arc<O>| {
            response.meta().uid == stored.meta().uid
                && version_of(response.meta()) > version_of(stored.meta())
        };
        Arc::clone(state.newest.get(key).map(|(_, response)| response).filter(newer).unwrap_or(stored))
    }

    /// Records what the watch reported; returns false if that is the echo of an own write or older than one.
    pub(crate) fn caught_up(&self, object: &O) -> bool {
        let mut state = self.state();
        let key = Key::of(object.meta());
        let Some((_, response)) = state.newest.get(&key) else { return true };
        let (reported, known) = (version_of(object.meta()), version_of(response.meta()));
        let same = response.meta().uid == object.meta().uid;
        if same && reported < known {
            return false;
        }
        state.newest.remove(&key);
        !(same && reported == known)
    }

    /// The watch begins to list.
    pub(crate) fn listing(&self) {
        self.state().lists += 1;
    }

    /// The watch has listed everything that `exists`. The list is newer than all that was known when it began, whatever
    /// the versions say: etcd may have been restored from a backup.
    pub(crate) fn listed(&self, exists: impl Fn(&Key) -> bool) {
        let mut state = self.state();
        let current = state.lists;
        state.newest.retain(|key, (list, _)| *list == current && exists(key));
    }

    /// Forgets an object that no longer exists.
    pub(crate) fn forget(&self, key: &Key) {
        self.state().newest.remove(key);
    }

    /// Returns how many responses are kept.
    pub(crate) fn size(&self) -> usize {
        self.state().newest.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sample::{Cluster, cluster};

    fn at(version: &str) -> Arc<Cluster> {
        let mut object = cluster(1);
        object.metadata.resource_version = Some(version.into());
        Arc::new(object)
    }

    #[test]
    fn an_own_write_counts_before_the_watch_reports_it_and_its_echo_is_not_a_change() {
        let written = Written::default();
        written.put(at("105"));
        let key = Key::of(&at("1").metadata);
        assert_eq!(written.newest(&key, &at("100")).metadata.resource_version.as_deref(), Some("105"));
        assert!(!written.caught_up(&at("104")), "older than what was written");
        assert!(!written.caught_up(&at("105")), "the echo");
        assert!(written.caught_up(&at("105")), "forgotten once caught up");
        assert!(written.caught_up(&at("106")));
    }

    #[test]
    fn a_list_replaces_newer_versions_that_were_written_before_it_began() {
        let written = Written::default();
        let key = Key::of(&at("1").metadata);
        written.put(at("900"));
        written.listing();
        written.listed(|_| true);
        assert_eq!(written.newest(&key, &at("100")).metadata.resource_version.as_deref(), Some("100"));
        written.listing();
        written.put(at("105"));
        written.listed(|_| true);
        assert_eq!(written.newest(&key, &at("100")).metadata.resource_version.as_deref(), Some("105"));
        written.listing();
        written.put(at("106"));
        written.listed(|_| false);
        assert_eq!(written.size(), 0, "what was not listed is forgotten");
    }
}
