//! The pods of each Memcached, found by label: their names, and what prevents them from running.

use super::cache::Key;
use super::facts::{self, PodFacts};
use super::live::Live;
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::watcher::Event;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Default)]
struct State {
    /// Pods by the Memcached that they belong to.
    clusters: HashMap<Key, BTreeMap<String, PodFacts>>,
    /// The Memcached that a pod was last observed with.
    owner_by_pod: HashMap<Key, String>,
    listing: Option<HashSet<Key>>,
}

/// All pods of a watched namespace that the operator's Deployments created.
#[derive(Default)]
pub(crate) struct Pods {
    state: Mutex<State>,
}

impl Pods {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the pods of one Memcached, by name.
    pub(crate) fn of(&self, memcached: &Key) -> BTreeMap<String, PodFacts> {
        self.state().clusters.get(memcached).cloned().unwrap_or_default()
    }

    /// Returns how many Memcacheds have pods, and how many pods there are.
    #[cfg(test)]
    pub(crate) fn sizes(&self) -> [usize; 2] {
        let state = self.state();
        [state.clusters.len(), state.owner_by_pod.len()]
    }

    /// Records a watch event; returns the Memcacheds whose pods changed.
    pub(crate) fn observe(&self, event: Event<Live<Pod>>) -> Vec<Key> {
        let mut state = self.state();
        match event {
            Event::Init => {
                state.listing = Some(HashSet::new());
                Vec::new()
            }
            Event::InitApply(pod) => {
                let key = Key::of(&pod.metadata);
                if let Some(listing) = &mut state.listing {
                    listing.insert(key);
                }
                state.put(&pod)
            }
            Event::InitDone => {
                let listed = state.listing.take().unwrap_or_default();
                let gone = state
                    .owner_by_pod
                    .keys()
                    .filter(|key| !listed.contains(key))
                    .cloned()
                    .collect::<Vec<_>>();
                gone.iter().filter_map(|key| state.remove(key)).collect()
            }
            Event::Apply(pod) => state.put(&pod),
            Event::Delete(pod) => state.remove(&Key::of(&pod.metadata)).into_iter().collect(),
        }
    }
}

impl State {
    fn put(&mut self, pod: &Live<Pod>) -> Vec<Key> {
        let key = Key::of(&pod.metadata);
        let (instance, facts) = facts::pod(pod);
        let mut changed = Vec::new();
        if self.owner_by_pod.get(&key).is_some_and(|owner| *owner != instance) {
            changed.extend(self.remove(&key));
        }
        let cluster = Key { namespace: key.namespace.clone(), name: instance.clone() };
        let pods = self.clusters.entry(cluster.clone()).or_default();
        if pods.get(&key.name) != Some(&facts) {
            pods.insert(key.name.clone(), facts);
            changed.push(cluster);
        }
        self.owner_by_pod.insert(key, instance);
        changed
    }

    fn remove(&mut self, pod: &Key) -> Option<Key> {
        let cluster = Key { namespace: pod.namespace.clone(), name: self.owner_by_pod.remove(pod)? };
        let pods = self.clusters.get_mut(&cluster)?;
        pods.remove(&pod.name);
        if pods.is_empty() {
            self.clusters.remove(&cluster);
        }
        Some(cluster)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(name: &str, instance: &str, phase: &str) -> Live<Pod> {
        serde_json::from_value(json!({
            "metadata": {"name": name, "namespace": "ns", "labels": {"app.kubernetes.io/instance": instance}},
            "status": {"phase": phase},
        }))
        .unwrap()
    }

    fn key(name: &str) -> Key {
        Key { namespace: "ns".into(), name: name.into() }
    }

    #[test]
    fn only_the_appearance_and_disappearance_of_a_pod_is_a_change() {
        let pods = Pods::default();
        assert_eq!(pods.observe(Event::Apply(pod("p", "a", "Pending"))), [key("a")]);
        assert!(pods.observe(Event::Apply(pod("p", "a", "Running"))).is_empty());
        assert_eq!(pods.observe(Event::Apply(pod("p", "a", "Failed"))), [key("a")]);
        assert_eq!(pods.observe(Event::Delete(pod("p", "a", "Failed"))), [key("a")]);
        assert!(pods.of(&key("a")).is_empty());
    }

    #[test]
    fn a_pod_that_changes_its_label_moves_to_the_other_memcached() {
        let pods = Pods::default();
        pods.observe(Event::Apply(pod("p", "a", "Running")));
        assert_eq!(pods.observe(Event::Apply(pod("p", "b", "Running"))), [key("a"), key("b")]);
        assert!(pods.of(&key("a")).is_empty());
    }

    #[test]
    fn a_list_removes_what_no_longer_exists() {
        let pods = Pods::default();
        pods.observe(Event::Apply(pod("p", "a", "Running")));
        pods.observe(Event::Init);
        pods.observe(Event::InitApply(pod("q", "a", "Running")));
        assert_eq!(pods.observe(Event::InitDone), [key("a")]);
        assert_eq!(pods.of(&key("a")).into_keys().collect::<Vec<_>>(), ["q"]);
    }
}
