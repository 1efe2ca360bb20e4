//! What was last seen of the owned objects, in a few bytes each.
//!
//! One cache per kind and watched namespace. It is fed by the watch and by the answers to the controller's own writes,
//! so that a reconcile that follows a write already sees it (nothing is written twice because a watch lags), and an
//! event that tells nothing new triggers nothing.

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

/// What a cache remembers of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen<F> {
    /// The object's own uid.
    pub(crate) uid: String,
    /// The uid of the object that controls it.
    pub(crate) owner: Option<String>,
    /// Digest of the fields that the controller applies; where admission plugins changed what was applied and nobody
    /// else did since, the digest that was asked for.
    pub(crate) digest: u64,
    /// Being deleted: it cannot be mended, only made anew once it is gone.
    pub(crate) deleting: bool,
    /// What the kind has to say.
    pub(crate) facts: F,
}

struct Entry<F> {
    version: Option<u64>,
    /// The digest of the spec of a generation: while that stays, the spec does, too.
    spec: (Option<i64>, u64),
    seen: Arc<Seen<F>>,
}

struct State<F> {
    entries: HashMap<Key, Entry<F>>,
    /// Names listed since the watch began anew; `None` outside of a list.
    listing: Option<HashSet<Key>>,
    /// The newest version that the watch has told.
    watched: u64,
    /// A digest that admission plugins made of what was applied, by the digest that was asked for.
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
    /// An empty cache; `outline` says what is applied to the kind, `facts` what else is of interest.
    pub(crate) fn new(outline: Outline, facts: fn(&Live<K>) -> F) -> Self {
        let state = State { entries: HashMap::new(), listing: None, watched: 0, mutated: HashMap::new() };
        Self { outline, facts, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State<F>> {
        // No code that holds the lock can fail half way, so a poisoned lock still guards whole data.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was last seen under this name.
    pub(crate) fn get(&self, key: &Key) -> Option<Arc<Seen<F>>> {
        self.state().entries.get(key).map(|entry| Arc::clone(&entry.seen))
    }

    /// Takes a watch event; returns the names for which something changed that the controller should look at.
    pub(crate) fn observe(&self, event: Event<Live<K>>) -> Vec<Key> {
        let mut state = self.state();
        match event {
            Event::Init => {
                state.listing = Some(HashSet::new());
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
                    state.mutated.remove(key);
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

    /// Takes the API server's answer to an apply that asked for the digest `wanted`.
    pub(crate) fn applied(&self, object: &Live<K>, wanted: u64) {
        let mut state = self.state();
        let key = Key::of(&object.metadata);
        let spec = self.spec(object);
        let live = self.outline.digest(object.metadata.labels.as_ref(), spec);
        if live == wanted {
            state.mutated.remove(&key);
        } else {
            // Whoever changed it on the way in would change it again: this is as good as it gets.
            state.mutated.insert(key.clone(), (wanted, live));
            if let Some(entry) = state.entries.get_mut(&key).filter(|entry| entry.seen.digest == live) {
                Arc::make_mut(&mut entry.seen).digest = wanted;
            }
        }
        // The watch may be ahead already, even past a deletion.
        if version_of(&object.metadata).is_none_or(|version| version > state.watched) {
            self.insert(&mut state, object, Some(spec));
        }
    }

    fn spec(&self, object: &Live<K>) -> u64 {
        // What came as JSON is JSON.
        let spec: Value = serde_json::from_str(object.spec.get()).unwrap_or_default();
        self.outline.spec_digest(&spec)
    }

    /// Takes an object as the watch told it, or as an answer did for which the digest of its spec is known already.
    fn insert(&self, state: &mut State<F>, object: &Live<K>, answered: Option<u64>) -> Vec<Key> {
        let key = Key::of(&object.metadata);
        let version = version_of(&object.metadata);
        if answered.is_none() {
            state.watched = state.watched.max(version.unwrap_or_default());
        }
        let old = state.entries.get(&key);
        if old.is_some_and(|old| matches!((old.version, version), (Some(old), Some(new)) if old >= new)) {
            return Vec::new();
        }
        let generation = object.metadata.generation;
        let known = old.filter(|old| {
            generation.is_some()
                && old.spec.0 == generation
                && object.metadata.uid.as_deref() == Some(old.seen.uid.as_str())
        });
        let spec = answered.or(known.map(|old| old.spec.1)).unwrap_or_else(|| self.spec(object));
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
        state.entries.insert(key.clone(), Entry { version, spec: (generation, spec), seen: Arc::new(seen) });
        if news { vec![key] } else { Vec::new() }
    }
}

/// The uid of the owner that controls an object.
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
    fn the_echo_of_an_own_write_is_no_news() {
        let cache = cache();
        cache.applied(&object(5, &json!(1), 0), 0);
        assert!(cache.observe(Event::Apply(object(5, &json!(1), 0))).is_empty());
        assert_eq!(cache.observe(Event::Apply(object(6, &json!(2), 0))), [key()]);
    }

    #[test]
    fn an_old_event_does_not_undo_what_a_write_told() {
        let cache = cache();
        cache.applied(&object(5, &json!(1), 7), 0);
        assert!(cache.observe(Event::Apply(object(4, &json!(9), 3))).is_empty());
        assert_eq!(cache.get(&key()).unwrap().facts, 7);
    }

    #[test]
    fn a_spec_is_looked_at_again_when_its_generation_moves_or_it_has_none() {
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
    fn a_late_answer_does_not_bring_back_what_was_deleted() {
        let cache = cache();
        cache.observe(Event::Apply(object(4, &json!(1), 0)));
        assert_eq!(cache.observe(Event::Delete(object(8, &json!(1), 0))), [key()]);
        cache.applied(&object(6, &json!(1), 0), 0);
        assert!(cache.get(&key()).is_none());
    }

    #[test]
    fn a_list_forgets_what_is_gone() {
        let cache = cache();
        cache.observe(Event::Apply(object(4, &json!(1), 0)));
        cache.observe(Event::Init);
        assert_eq!(cache.observe(Event::InitDone), [key()]);
        assert!(cache.get(&key()).is_none());
    }

    #[test]
    fn what_admission_changes_is_not_applied_again_and_again() {
        let cache = cache();
        let wanted = cache.outline.digest(None, cache.outline.spec_digest(&json!({"ports": 1})));
        cache.applied(&object(5, &json!(2), 0), wanted);
        assert_eq!(cache.get(&key()).unwrap().digest, wanted);
        cache.observe(Event::Apply(object(6, &json!(3), 0)));
        assert_ne!(cache.get(&key()).unwrap().digest, wanted, "a later change is drift again");
    }
}
