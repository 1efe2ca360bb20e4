//! What was last observed of the owned objects, in a few bytes each.
//!
//! One cache per kind and watched namespace. It is fed by the watch and by the responses to the controller's own writes,
//! so that a reconcile that follows a write already sees it (nothing is written twice because a watch lags), and an
//! event without a change triggers nothing.

use super::build::Kind;
use super::live::{Live, version_of};
use super::shape::Outline;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::runtime::watcher::Event;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl Key {
    pub(crate) fn of(metadata: &ObjectMeta) -> Self {
        Self {
            namespace: metadata.namespace.clone().unwrap_or_default(),
            name: metadata.name.clone().unwrap_or_default(),
        }
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// What a cache keeps of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen<F> {
    /// The object's own uid.
    pub(crate) uid: String,
    /// The uid of the object that controls it.
    pub(crate) owner: Option<String>,
    /// Digest of the fields that the controller applies; if admission plugins changed what was applied and nobody else
    /// did since, the digest of what was applied.
    pub(crate) digest: u64,
    /// Being deleted: it can only be created again once it is gone.
    pub(crate) deleting: bool,
    /// What else the controller uses of the kind.
    pub(crate) facts: F,
}

struct Entry<F> {
    version: Option<u64>,
    /// The list since which this is known.
    list: u64,
    /// The digest of the spec of a generation: the spec changes only with the generation.
    spec: (Option<i64>, u64),
    seen: Arc<Seen<F>>,
}

struct State<F> {
    entries: HashMap<Key, Entry<F>>,
    /// Names listed since the watch was restarted; `None` outside of a list.
    listing: Option<HashSet<Key>>,
    /// How many lists have begun.
    lists: u64,
    /// The list showed an older version of an object than was known before: etcd was restored from a backup.
    restored: bool,
    /// The newest version that the watch has reported.
    watched: u64,
    /// The newest version in the current list.
    newest_listed: u64,
    /// Digests of what was applied and of what admission plugins made of it.
    mutated: HashMap<Key, (u64, u64)>,
}

/// The cache of one kind.
pub(crate) struct Cache<K: Kind, F> {
    outline: Outline,
    facts: fn(&Live<K>) -> F,
    state: Mutex<State<F>>,
}

impl<K, F> Cache<K, F>
where
    K: Kind,
    F: Clone + PartialEq,
{
    /// Returns an empty cache; `outline` is what is applied to the kind, `facts` returns what else is used.
    pub(crate) fn new(outline: Outline, facts: fn(&Live<K>) -> F) -> Self {
        let state = State {
            entries: HashMap::new(),
            listing: None,
            lists: 0,
            restored: false,
            watched: 0,
            newest_listed: 0,
            mutated: HashMap::new(),
        };
        Self { outline, facts, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State<F>> {
        // No code that holds the lock can fail half-way, so a poisoned lock still guards consistent data.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what was last observed under this name.
    pub(crate) fn get(&self, key: &Key) -> Option<Arc<Seen<F>>> {
        self.state().entries.get(key).map(|entry| Arc::clone(&entry.seen))
    }

    /// Returns how many objects are known, and of how many a change by admission plugins.
    #[cfg(test)]
    pub(crate) fn sizes(&self) -> [usize; 2] {
        let state = self.state();
        [state.entries.len(), state.mutated.len()]
    }

    /// Records a watch event; returns the names of objects whose change the controller has to look at.
    pub(crate) fn observe(&self, event: Event<Live<K>>) -> Vec<Key> {
        let mut state = self.state();
        match event {
            Event::Init => {
                state.listing = Some(HashSet::new());
                state.lists += 1;
                state.newest_listed = 0;
                state.restored = false;
                Vec::new()
            }
            Event::InitApply(object) => {
                let key = Key::of(&object.metadata);
                if let Some(listing) = &mut state.listing {
                    listing.insert(key);
                }
                self.insert(&mut state, &object, None)
            }
            Event::InitDone => {
                let listed = state.listing.take().unwrap_or_default();
                let gone =
                    state.entries.keys().filter(|key| !listed.contains(key)).cloned().collect::<Vec<_>>();
                for key in &gone {
                    state.entries.remove(key);
                }
                let State { entries, mutated, .. } = &mut *state;
                mutated.retain(|key, _| entries.contains_key(key));
                if state.restored {
                    tracing::warn!(
                        kind = K::NAME,
                        "resource versions went back; was etcd restored from a backup?"
                    );
                    state.watched = state.newest_listed;
                }
                gone
            }
            Event::Apply(object) => self.insert(&mut state, &object, None),
            Event::Delete(object) => {
                let key = Key::of(&object.metadata);
                state.watched = state.watched.max(version_of(&object.metadata).unwrap_or_default());
                state.mutated.remove(&key);
                if state.entries.remove(&key).is_some() { vec![key] } else { Vec::new() }
            }
        }
    }

    /// Records the response to an apply of an object with the digest `wanted`.
    pub(crate) fn applied(&self, object: &Live<K>, wanted: u64) {
        let mut state = self.state();
        let key = Key::of(&object.metadata);
        let spec = self.spec(object);
        let live = self.outline.digest(object.metadata.labels.as_ref(), spec);
        // The watch may be ahead already, even past a deletion.
        let ahead = version_of(&object.metadata).is_some_and(|version| version <= state.watched);
        if live == wanted {
            state.mutated.remove(&key);
        } else if !ahead || state.entries.contains_key(&key) {
            // Admission plugins would change it again: another apply does not help.
            state.mutated.insert(key.clone(), (wanted, live));
            if let Some(entry) = state.entries.get_mut(&key).filter(|entry| entry.seen.digest == live) {
                Arc::make_mut(&mut entry.seen).digest = wanted;
            }
        }
        if !ahead {
            self.insert(&mut state, object, Some(spec));
        }
    }

    fn spec(&self, object: &Live<K>) -> u64 {
        // It was part of a valid JSON document.
        let spec: Value = serde_json::from_str(object.spec.get()).unwrap_or_default();
        self.outline.spec_digest(&spec)
    }

    /// Records an object that the watch reported or, with the digest of its spec, one that a write returned.
    fn insert(&self, state: &mut State<F>, object: &Live<K>, written: Option<u64>) -> Vec<Key> {
        let key = Key::of(&object.metadata);
        let version = version_of(&object.metadata);
        let uid = object.metadata.uid.as_deref().unwrap_or_default();
        let listed = written.is_none() && state.listing.is_some();
        if written.is_none() {
            state.watched = state.watched.max(version.unwrap_or_default());
        }
        if listed {
            state.newest_listed = state.newest_listed.max(version.unwrap_or_default());
        }
        let old = state.entries.get(&key);
        let older =
            old.is_some_and(|old| matches!((old.version, version), (Some(old), Some(new)) if old > new));
        let same = old.is_some_and(|old| old.version.is_some() && old.version == version);
        // A list is newer than all that was known when it began, whatever the versions say: etcd may have been restored.
        let outdated = old.is_some_and(|old| listed && old.list < state.lists);
        if outdated && older && old.is_some_and(|old| old.seen.uid == uid) {
            state.restored = true;
        }
        if (older || same) && !outdated {
            return Vec::new();
        }
        let generation = object.metadata.generation;
        let old = state.entries.get(&key);
        let known = old.filter(|old| {
            !outdated && generation.is_some() && old.spec.0 == generation && old.seen.uid == uid
        });
        let spec = written.or(known.map(|old| old.spec.1)).unwrap_or_else(|| self.spec(object));
        let live = self.outline.digest(object.metadata.labels.as_ref(), spec);
        let seen = Seen {
            uid: object.metadata.uid.clone().unwrap_or_default(),
            owner: controller_uid(&object.metadata),
            digest: match state.mutated.get(&key) {
                Some((wanted, mutated)) if *mutated == live => *wanted,
                _ => live,
            },
            deleting: object.metadata.deletion_timestamp.is_some(),
            facts: (self.facts)(object),
        };
        let news = old.is_none_or(|old| *old.seen != seen);
        let entry = Entry { version, list: state.lists, spec: (generation, spec), seen: Arc::new(seen) };
        state.entries.insert(key.clone(), entry);
        if news { vec![key] } else { Vec::new() }
    }
}

/// Returns the uid of the owner that controls an object.
pub(crate) fn controller_uid(metadata: &ObjectMeta) -> Option<String> {
    let owners = metadata.owner_references.as_deref().unwrap_or_default();
    owners.iter().find(|owner| owner.controller == Some(true)).map(|owner| owner.uid.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::facts::rollout;
    use k8s_openapi::api::apps::v1::Deployment;
    use serde_json::json;

    fn cache() -> Cache<Deployment, i32> {
        let outline = Outline::of(&json!({"metadata": {"labels": {"a": ""}}, "spec": {"ports": 1}}));
        Cache::new(outline, |live| rollout(live).available)
    }

    fn object(version: u64, ports: &Value, n: i32) -> Live<Deployment> {
        serde_json::from_value(json!({
            "metadata": {"name": "x", "namespace": "ns", "uid": "u", "resourceVersion": version.to_string()},
            "spec": {"ports": ports}, "status": {"availableReplicas": n},
        }))
        .unwrap()
    }

    fn key() -> Key {
        Key { namespace: "ns".into(), name: "x".into() }
    }

    #[test]
    fn the_echo_of_an_own_write_is_not_a_change() {
        let cache = cache();
        cache.applied(&object(5, &json!(1), 0), 0);
        assert!(cache.observe(Event::Apply(object(5, &json!(1), 0))).is_empty());
        assert_eq!(cache.observe(Event::Apply(object(6, &json!(2), 0))), [key()]);
    }

    #[test]
    fn an_old_event_does_not_undo_what_a_write_returned() {
        let cache = cache();
        cache.applied(&object(5, &json!(1), 7), 0);
        assert!(cache.observe(Event::Apply(object(4, &json!(9), 3))).is_empty());
        assert_eq!(cache.get(&key()).unwrap().facts, 7);
    }

    #[test]
    fn a_spec_is_parsed_again_when_its_generation_changes_or_is_missing() {
        let cache = cache();
        let at = |version: u64, generation: Option<i64>, ports: i32| {
            let mut object = object(version, &json!(ports), 0);
            object.metadata.generation = generation;
            Event::Apply(object)
        };
        cache.observe(at(1, Some(1), 1));
        assert!(cache.observe(at(2, Some(1), 1)).is_empty());
        assert_eq!(cache.observe(at(3, Some(2), 2)), [key()]);
        assert_eq!(cache.observe(at(4, None, 3)), [key()]);
        assert_eq!(cache.observe(at(5, None, 4)), [key()]);
    }

    #[test]
    fn a_late_response_does_not_bring_back_a_deleted_object() {
        let cache = cache();
        cache.observe(Event::Apply(object(4, &json!(1), 0)));
        assert_eq!(cache.observe(Event::Delete(object(8, &json!(1), 0))), [key()]);
        cache.applied(&object(6, &json!(1), 0), 0);
        assert!(cache.get(&key()).is_none());
    }

    #[test]
    fn a_list_removes_what_no_longer_exists() {
        let cache = cache();
        cache.observe(Event::Apply(object(4, &json!(1), 0)));
        cache.observe(Event::Init);
        assert_eq!(cache.observe(Event::InitDone), [key()]);
        assert!(cache.get(&key()).is_none());
    }

    #[test]
    fn changes_by_admission_plugins_are_not_reverted_again_and_again() {
        let cache = cache();
        let wanted = cache.outline.digest(None, cache.outline.spec_digest(&json!({"ports": 1})));
        cache.applied(&object(5, &json!(2), 0), wanted);
        assert_eq!(cache.get(&key()).unwrap().digest, wanted);
        cache.observe(Event::Apply(object(6, &json!(3), 0)));
        assert_ne!(cache.get(&key()).unwrap().digest, wanted, "a later change is drift again");
    }

    #[test]
    fn a_list_replaces_newer_versions_that_were_known_before_it_began() {
        // Versions go back when etcd is restored from a backup.
        let cache = cache();
        let listed = |version: u64, ports: i32| {
            let mut object = object(version, &json!(ports), 0);
            object.metadata.generation = Some(5);
            object
        };
        cache.observe(Event::Apply(listed(900, 1)));
        cache.observe(Event::Init);
        assert_eq!(cache.observe(Event::InitApply(listed(100, 2))), [key()], "of the same generation, too");
        cache.observe(Event::InitDone);
        // The watch and the own writes go on from there.
        assert_eq!(cache.observe(Event::Apply(object(101, &json!(3), 0))), [key()]);
        cache.applied(&object(102, &json!(1), 7), 0);
        assert_eq!(cache.get(&key()).unwrap().facts, 7);
    }

    #[test]
    fn a_list_does_not_undo_what_was_written_while_it_ran() {
        let cache = cache();
        cache.observe(Event::Init);
        cache.applied(&object(10, &json!(1), 7), 0);
        assert!(cache.observe(Event::InitApply(object(8, &json!(2), 3))).is_empty());
        cache.observe(Event::InitDone);
        assert_eq!(cache.get(&key()).unwrap().facts, 7);
    }

    #[test]
    fn a_late_response_that_admission_plugins_changed_leaves_nothing_behind() {
        let cache = cache();
        cache.observe(Event::Apply(object(4, &json!(1), 0)));
        cache.observe(Event::Delete(object(8, &json!(1), 0)));
        cache.applied(&object(6, &json!(2), 0), 12345);
        assert_eq!(cache.sizes(), [0, 0]);
    }
}
