//! The first step: everything that a reconcile decides on, read from what the watches cache. Makes no request.

use super::build::Outlines;
use super::cache::{Cache, Key, Seen};
use super::facts::{PodFacts, Rollout, rollout};
use super::live::{Live, version_of};
use super::pods::Pods;
use crate::crd::Memcached;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::runtime::reflector::{ObjectRef, Store};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What the watches of one namespace (or of all) cache.
pub(crate) struct Observed {
    pub(crate) memcacheds: Store<Memcached>,
    pub(crate) written: Written,
    pub(crate) malformed: Malformed,
    pub(crate) deployments: Cache<Deployment, Rollout>,
    pub(crate) services: Cache<Service, ()>,
    pub(crate) disruption_budgets: Cache<PodDisruptionBudget, ()>,
    pub(crate) pods: Pods,
}

impl Observed {
    pub(crate) fn new(memcacheds: Store<Memcached>, outlines: &Outlines) -> Self {
        Self {
            memcacheds,
            written: Written::default(),
            malformed: Malformed::default(),
            deployments: Cache::new(outlines.deployment.clone(), rollout),
            services: Cache::new(outlines.service.clone(), |_| ()),
            disruption_budgets: Cache::new(outlines.disruption_budget.clone(), |_| ()),
            pods: Pods::default(),
        }
    }

    /// Whether the watch knows a Memcached.
    pub(crate) fn exists(&self, key: &Key) -> bool {
        self.memcacheds.get(&ObjectRef::new(&key.name).within(&key.namespace)).is_some()
    }

    /// Records the response to an own write, for reconciles that run before the watch reports it.
    pub(crate) fn remember(&self, response: Live<Memcached>) -> Arc<Memcached> {
        let memcached = Arc::new(self.malformed.parse(response));
        self.written.put(Arc::clone(&memcached));
        memcached
    }

    /// Forgets a Memcached that no longer exists.
    pub(crate) fn forget(&self, key: &Key) {
        self.written.forget(key);
        self.malformed.forget(key);
    }

    /// Forgets every Memcached that the watch has just not listed.
    pub(crate) fn listed(&self) {
        self.written.listed(|key| self.exists(key));
        self.malformed.errors().retain(|key, _| self.exists(key));
    }
}

/// One reconcile's view of the world.
pub(crate) struct Input {
    pub(crate) key: Key,
    pub(crate) memcached: Arc<Memcached>,
    /// Why the spec could not be parsed, if it could not.
    pub(crate) malformed: Option<String>,
    pub(crate) deployment: Option<Arc<Seen<Rollout>>>,
    pub(crate) service: Option<Arc<Seen<()>>>,
    pub(crate) disruption_budget: Option<Arc<Seen<()>>>,
    pub(crate) pods: BTreeMap<String, PodFacts>,
}

/// Returns everything that belongs to a Memcached.
pub(crate) fn dereference(stored: &Arc<Memcached>, observed: &Observed) -> Input {
    let key = Key::of(&stored.metadata);
    Input {
        memcached: observed.written.newest(&key, stored),
        malformed: observed.malformed.errors().get(&key).cloned(),
        deployment: observed.deployments.get(&key),
        service: observed.services.get(&key),
        disruption_budget: observed.disruption_budgets.get(&key),
        pods: observed.pods.of(&key),
        key,
    }
}

/// Memcacheds whose spec could not be parsed, with the reason.
#[derive(Default)]
pub(crate) struct Malformed {
    errors: Mutex<HashMap<Key, String>>,
}

impl Malformed {
    pub(crate) fn errors(&self) -> MutexGuard<'_, HashMap<Key, String>> {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the Memcached, and records whether its spec could be parsed.
    pub(crate) fn parse(&self, live: Live<Memcached>) -> Memcached {
        let (memcached, error) = live.parsed();
        let key = Key::of(&memcached.metadata);
        let mut errors = self.errors();
        if let Some(error) = error {
            if errors.get(&key) != Some(&error) {
                tracing::warn!(memcached = %key, error, "failed to parse the spec");
            }
            errors.insert(key, error);
        } else if !errors.is_empty() {
            errors.remove(&key);
        }
        memcached
    }

    fn forget(&self, key: &Key) {
        self.errors().remove(key);
    }
}

/// Memcacheds as the API server returned them for the controller's own writes, until the watch has caught up.
#[derive(Default)]
pub(crate) struct Written {
    state: Mutex<Responses>,
}

#[derive(Default)]
struct Responses {
    /// Each with the list since which it is known.
    newest: HashMap<Key, (u64, Arc<Memcached>)>,
    /// How many lists have begun.
    lists: u64,
}

impl Written {
    fn state(&self) -> MutexGuard<'_, Responses> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a response.
    pub(crate) fn put(&self, response: Arc<Memcached>) {
        let mut state = self.state();
        let list = state.lists;
        state.newest.insert(Key::of(&response.metadata), (list, response));
    }

    /// Returns the newer one of the stored object and of what a write returned.
    pub(crate) fn newest(&self, key: &Key, stored: &Arc<Memcached>) -> Arc<Memcached> {
        let state = self.state();
        let newer = |response: &&Arc<Memcached>| {
            response.metadata.uid == stored.metadata.uid
                && version_of(&response.metadata) > version_of(&stored.metadata)
        };
        Arc::clone(state.newest.get(key).map(|(_, response)| response).filter(newer).unwrap_or(stored))
    }

    /// Records what the watch reported; returns false if that is the echo of an own write or older than one.
    pub(crate) fn caught_up(&self, memcached: &Memcached) -> bool {
        let mut state = self.state();
        let key = Key::of(&memcached.metadata);
        let Some((_, response)) = state.newest.get(&key) else { return true };
        let (reported, known) = (version_of(&memcached.metadata), version_of(&response.metadata));
        let same = response.metadata.uid == memcached.metadata.uid;
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
    fn listed(&self, exists: impl Fn(&Key) -> bool) {
        let mut state = self.state();
        let current = state.lists;
        state.newest.retain(|key, (list, _)| *list == current && exists(key));
    }

    /// Forgets an object that no longer exists.
    fn forget(&self, key: &Key) {
        self.state().newest.remove(key);
    }

    /// Returns how many responses are kept.
    #[cfg(test)]
    pub(crate) fn size(&self) -> usize {
        self.state().newest.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::validate::tests::memcached;

    fn at(version: &str) -> Arc<Memcached> {
        let mut object = memcached(1);
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
