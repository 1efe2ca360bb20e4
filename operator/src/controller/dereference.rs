//! The first step: everything that a reconcile decides on, read from what the watches keep. No request is made.

use super::build::Outlines;
use super::cache::{Cache, Key, Seen};
use super::facts::{PodFacts, Rollout, rollout};
use super::live::version_of;
use super::pods::Pods;
use crate::crd::Memcached;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

/// What the watches of one namespace (or of all) keep.
pub(crate) struct Observed {
    pub(crate) written: Written,
    pub(crate) deployments: Cache<Deployment, Rollout>,
    pub(crate) services: Cache<Service, ()>,
    pub(crate) disruption_budgets: Cache<PodDisruptionBudget, ()>,
    pub(crate) pods: Pods,
}

impl Observed {
    pub(crate) fn new(outlines: &Outlines) -> Self {
        Self {
            written: Written::default(),
            deployments: Cache::new(outlines.deployment.clone(), rollout),
            services: Cache::new(outlines.service.clone(), |_| ()),
            disruption_budgets: Cache::new(outlines.disruption_budget.clone(), |_| ()),
            pods: Pods::default(),
        }
    }
}

/// One reconcile's view of the world.
pub(crate) struct Input {
    pub(crate) key: Key,
    pub(crate) memcached: Arc<Memcached>,
    pub(crate) deployment: Option<Arc<Seen<Rollout>>>,
    pub(crate) service: Option<Arc<Seen<()>>>,
    pub(crate) disruption_budget: Option<Arc<Seen<()>>>,
    pub(crate) pods: BTreeMap<String, PodFacts>,
}

/// Reads everything that belongs to a Memcached.
pub(crate) fn dereference(stored: &Arc<Memcached>, observed: &Observed) -> Input {
    let key = Key::of(&stored.metadata);
    Input {
        memcached: observed.written.newest(&key, stored),
        deployment: observed.deployments.get(&key),
        service: observed.services.get(&key),
        disruption_budget: observed.disruption_budgets.get(&key),
        pods: observed.pods.of(&key),
        key,
    }
}

/// Memcacheds as the API server answered the controller's own writes, until the watch has caught up.
#[derive(Default)]
pub(crate) struct Written {
    answers: Mutex<HashMap<Key, Arc<Memcached>>>,
}

impl Written {
    /// Keeps an answer.
    pub(crate) fn put(&self, answer: Arc<Memcached>) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.insert(Key::of(&answer.metadata), answer);
    }

    /// The newer one of the stored object and of what a write told.
    pub(crate) fn newest(&self, key: &Key, stored: &Arc<Memcached>) -> Arc<Memcached> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let newer = |answer: &&Arc<Memcached>| {
            answer.metadata.uid == stored.metadata.uid
                && version_of(&answer.metadata) > version_of(&stored.metadata)
        };
        Arc::clone(answers.get(key).filter(newer).unwrap_or(stored))
    }

    /// Takes note of what the watch told; true when that is news, false when it is the echo of an own write.
    pub(crate) fn caught_up(&self, memcached: &Memcached) -> bool {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let key = Key::of(&memcached.metadata);
        let Some(answer) = answers.get(&key) else { return true };
        let (told, known) = (version_of(&memcached.metadata), version_of(&answer.metadata));
        if answer.metadata.uid != memcached.metadata.uid || told >= known {
            let echo = answer.metadata.uid == memcached.metadata.uid && told == known;
            answers.remove(&key);
            return !echo;
        }
        false
    }

    /// Forgets an object that is gone.
    pub(crate) fn forget(&self, key: &Key) {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
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
    fn an_own_write_is_seen_before_the_watch_tells_it_and_its_echo_is_no_news() {
        let written = Written::default();
        written.put(at("105"));
        let key = Key::of(&at("1").metadata);
        assert_eq!(written.newest(&key, &at("100")).metadata.resource_version.as_deref(), Some("105"));
        assert!(!written.caught_up(&at("104")), "older than what was written");
        assert!(!written.caught_up(&at("105")), "the echo");
        assert!(written.caught_up(&at("105")), "forgotten once caught up");
        assert!(written.caught_up(&at("106")));
    }
}
