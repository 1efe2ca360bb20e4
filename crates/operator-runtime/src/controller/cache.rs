//! What was last observed of the children, in a few bytes each.
//!
//! One cache per kind and watched namespace. It is fed by the watch and by the responses to the controller's own writes,
//! so that a reconcile that follows a write already sees it (nothing is written twice because a watch lags), and an
//! event without a change triggers nothing.

use super::key::Key;
use super::live::{Live, version_of};
use super::shape::Outline;
use super::view::{AnyView, ParseView};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::core::ApiResource;
use kube::runtime::watcher::Event;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The object that controls another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) uid: String,
    /// Its key, if it is of the controller's own kind.
    pub(crate) key: Option<Key>,
}

/// What a cache keeps of one object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    /// The object's own uid.
    pub(crate) uid: String,
    /// The object that controls it.
    pub(crate) owner: Option<Owner>,
    /// Digest of the fields that the controller applies; without an outline, of the generation and the labels or, of kinds
    /// without generations, of the resource version. If nothing of that changed since an apply, the digest of what was
    /// applied: admission plugins may have changed it.
    pub(crate) digest: u64,
    /// Being deleted: it can only be created again once it is gone.
    pub(crate) deleting: bool,
    /// What else the controller uses of the kind; `None` if it could not be parsed.
    pub(crate) view: Option<AnyView>,
}

impl Seen {
    /// Whether the object belongs to the one with this uid, or to nobody, so that it is adopted.
    pub(crate) fn is_of(&self, uid: &str) -> bool {
        self.owner.as_ref().is_none_or(|owner| owner.uid == uid)
    }
}

/// How a controller refers to its own kind.
#[derive(Clone, Debug)]
pub(crate) struct OwnerKind {
    pub(crate) resource: ApiResource,
    pub(crate) namespaced: bool,
}

impl OwnerKind {
    fn owner(&self, metadata: &ObjectMeta) -> Option<Owner> {
        let OwnerReference { api_version, kind, name, uid, .. } = controller_of(metadata)?;
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let key = (*kind == self.resource.kind && group == self.resource.group).then(|| Key {
            namespace: metadata.namespace.clone().filter(|_| self.namespaced).unwrap_or_default(),
            name: name.clone(),
        });
        Some(Owner { uid: uid.clone(), key })
    }
}

struct Entry {
    version: Option<u64>,
    /// The list since which this is known.
    list: u64,
    /// The digest of the content of a generation: the content changes only with the generation.
    content: (Option<i64>, u64),
    seen: Arc<Seen>,
}

#[derive(Default)]
struct State {
    entries: HashMap<Key, Entry>,
    /// Children with another name than their owner, by owner. Most have the same name.
    renamed: HashMap<Key, BTreeSet<Key>>,
    /// Who waits for an object to disappear, by the object's key.
    waiting: HashMap<Key, BTreeSet<Key>>,
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
    /// Digests of what was applied and of what became of it: through admission plugins or, without an outline, of each.
    mutated: HashMap<Key, (u64, u64)>,
}

/// The cache of one kind.
pub(crate) struct Cache {
    kind: String,
    owners: OwnerKind,
    outline: Option<Outline>,
    parse: ParseView,
    state: Mutex<State>,
}

impl Cache {
    /// Returns an empty cache of a kind; `outline` is what is applied to it, if digests are compared.
    pub(crate) fn new(kind: &str, owners: OwnerKind, outline: Option<Outline>, parse: ParseView) -> Self {
        Self { kind: kind.to_owned(), owners, outline, parse, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No code that holds the lock can fail half-way, so a poisoned lock still guards consistent data.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what was last observed under this name.
    pub(crate) fn get(&self, key: &Key) -> Option<Arc<Seen>> {
        self.state().entries.get(key).map(|entry| Arc::clone(&entry.seen))
    }

    /// Returns what was last observed of everything that belongs to an object, sorted by name.
    pub(crate) fn of(&self, owner: &Key, uid: &str) -> Vec<(Key, Arc<Seen>)> {
        let state = self.state();
        let renamed = state.renamed.get(owner).into_iter().flatten();
        let mut found: Vec<_> = std::iter::once(owner)
            .chain(renamed)
            .filter_map(|key| Some((key.clone(), Arc::clone(&state.entries.get(key)?.seen))))
            .filter(|(_, seen)| seen.is_of(uid))
            .collect();
        found.sort_by(|(a, _), (b, _)| (&a.name, &a.namespace).cmp(&(&b.name, &b.namespace)));
        found
    }

    /// Has `owner` reconciled when the object under this name changes or disappears.
    pub(crate) fn wait(&self, key: &Key, owner: &Key) {
        self.state().waiting.entry(key.clone()).or_default().insert(owner.clone());
    }

    /// Forgets that objects wait that no longer exist.
    pub(crate) fn retain_waiting(&self, exists: impl Fn(&Key) -> bool) {
        self.state().waiting.retain(|_, owners| {
            owners.retain(&exists);
            !owners.is_empty()
        });
    }

    /// Returns how many objects are known, of how many a change by admission plugins, and how many wait.
    pub(crate) fn sizes(&self) -> [usize; 4] {
        let state = self.state();
        let waiting = state.waiting.values().map(BTreeSet::len).sum();
        [state.entries.len(), state.mutated.len(), waiting, state.renamed.len()]
    }

    /// Records a watch event; returns the owners of objects whose change the controller has to look at.
    pub(crate) fn observe(&self, event: Event<Live>) -> Vec<Key> {
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
                let owners = gone.iter().flat_map(|key| state.remove(key)).collect();
                let State { entries, mutated, .. } = &mut *state;
                mutated.retain(|key, _| entries.contains_key(key));
                if state.restored {
                    tracing::warn!(
                        kind = self.kind,
                        "resource versions went backwards; was etcd restored from a backup?"
                    );
                    state.watched = state.newest_listed;
                }
                owners
            }
            Event::Apply(object) => self.insert(&mut state, &object, None),
            Event::Delete(object) => {
                let key = Key::of(&object.metadata);
                state.watched = state.watched.max(version_of(&object.metadata).unwrap_or_default());
                state.mutated.remove(&key);
                state.remove(&key)
            }
        }
    }

    /// Records the response to an apply of an object with the digest `wanted`; returns whether the object changed.
    pub(crate) fn applied(&self, object: &Live, wanted: Option<u64>) -> bool {
        let mut state = self.state();
        let key = Key::of(&object.metadata);
        // The watch may be ahead already, even past a deletion.
        let ahead = version_of(&object.metadata).is_some_and(|version| version <= state.watched);
        let changed = state.entries.get(&key).is_none_or(|entry| entry.differs(object));
        let content = self.content(object);
        if let Some(wanted) = wanted {
            let live = self.live_digest(&object.metadata, content);
            if live == wanted {
                state.mutated.remove(&key);
            } else if !ahead || state.entries.contains_key(&key) {
                // Admission plugins would change it again: another apply does not help.
                state.mutated.insert(key.clone(), (wanted, live));
                if let Some(entry) = state.entries.get_mut(&key).filter(|entry| entry.seen.digest == live) {
                    Arc::make_mut(&mut entry.seen).digest = wanted;
                }
            }
        }
        if !ahead {
            self.insert(&mut state, object, Some(content));
        }
        changed
    }

    fn content(&self, object: &Live) -> u64 {
        self.outline.as_ref().map_or(0, |outline| outline.content_digest(object.text()))
    }

    /// Returns the digest of an object as it is.
    fn live_digest(&self, metadata: &ObjectMeta, content: u64) -> u64 {
        if let Some(outline) = &self.outline {
            return outline.digest(metadata, content);
        }
        let mut hasher = DefaultHasher::new();
        match metadata.generation {
            Some(generation) => (generation, &metadata.labels).hash(&mut hasher),
            None => metadata.resource_version.hash(&mut hasher),
        }
        hasher.finish()
    }

    /// Whether an apply is known to change something: digests cover the fields that are applied, and nothing else.
    pub(crate) fn is_exact(&self) -> bool {
        self.outline.is_some()
    }

    fn digest(&self, state: &State, key: &Key, metadata: &ObjectMeta, content: u64) -> u64 {
        let live = self.live_digest(metadata, content);
        match state.mutated.get(key) {
            Some((wanted, mutated)) if *mutated == live => *wanted,
            _ => live,
        }
    }

    /// Records an object that the watch reported or, with the digest of its content, one that a write returned.
    fn insert(&self, state: &mut State, object: &Live, written: Option<u64>) -> Vec<Key> {
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
            // A generation may stand for something else now.
            state.mutated.clear();
        }
        if (older || same) && !outdated {
            return Vec::new();
        }
        let generation = object.metadata.generation;
        let old = state.entries.get(&key);
        let known = old.filter(|old| {
            !outdated && generation.is_some() && old.content.0 == generation && old.seen.uid == uid
        });
        let content = written.or(known.map(|old| old.content.1)).unwrap_or_else(|| self.content(object));
        let view = (self.parse)(object.text()).inspect_err(
            |error| tracing::warn!(%error, kind = self.kind, object = %key, "failed to parse an object"),
        );
        let seen = Arc::new(Seen {
            uid: uid.to_owned(),
            owner: self.owners.owner(&object.metadata),
            digest: self.digest(state, &key, &object.metadata, content),
            deleting: object.metadata.deletion_timestamp.is_some(),
            view: view.ok(),
        });
        let mut affected = Vec::new();
        if old.is_none_or(|old| *old.seen != *seen) {
            affected.extend(state.owners(&key));
            state.index(&key, &seen);
            affected.extend(seen.owner.as_ref().and_then(|owner| owner.key.clone()));
            affected.dedup();
        }
        state.entries.insert(key, Entry { version, list: state.lists, content: (generation, content), seen });
        affected
    }
}

impl Entry {
    /// Whether an object differs from this in what controllers apply.
    fn differs(&self, object: &Live) -> bool {
        let generation = object.metadata.generation;
        object.metadata.uid.as_ref() != Some(&self.seen.uid)
            || match generation {
                Some(_) => generation != self.content.0,
                None => version_of(&object.metadata) != self.version,
            }
    }
}

impl State {
    /// Returns who has to look at a change of the object that is known under this name.
    fn owners(&self, key: &Key) -> Vec<Key> {
        let owner = self.entries.get(key).and_then(|entry| entry.seen.owner.as_ref()?.key.clone());
        let waiting = self.waiting.get(key).into_iter().flatten().cloned();
        owner.into_iter().chain(waiting).collect()
    }

    /// Records under which owner an object is found.
    fn index(&mut self, key: &Key, seen: &Seen) {
        self.unindex(key);
        if let Some(owner) =
            seen.owner.as_ref().and_then(|owner| owner.key.as_ref()).filter(|owner| *owner != key)
        {
            self.renamed.entry(owner.clone()).or_default().insert(key.clone());
        }
    }

    fn unindex(&mut self, key: &Key) {
        let Some(owner) = self.entries.get(key).and_then(|entry| entry.seen.owner.as_ref()?.key.as_ref())
        else {
            return;
        };
        if let Some(keys) = self.renamed.get_mut(owner) {
            keys.remove(key);
            if keys.is_empty() {
                self.renamed.remove(&owner.clone());
            }
        }
    }

    /// Removes an object; returns who has to look at it.
    fn remove(&mut self, key: &Key) -> Vec<Key> {
        if !self.entries.contains_key(key) {
            return Vec::new();
        }
        let mut owners = self.owners(key);
        owners.dedup();
        self.unindex(key);
        self.waiting.remove(key);
        self.entries.remove(key);
        owners
    }
}

/// Returns the reference to the owner that controls an object.
fn controller_of(metadata: &ObjectMeta) -> Option<&OwnerReference> {
    metadata
        .owner_references
        .as_deref()
        .unwrap_or_default()
        .iter()
        .find(|owner| owner.controller == Some(true))
}

/// Returns the uid of the owner that controls an object.
pub(crate) fn controller_uid(metadata: &ObjectMeta) -> Option<&str> {
    controller_of(metadata).map(|owner| owner.uid.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sample::owner_kind;
    use crate::views::Rollout;
    use serde_json::{Value, json};

    fn with(outline: Option<Outline>) -> Cache {
        Cache::new("Deployment", owner_kind(), outline, AnyView::parse::<Rollout>)
    }

    fn cache() -> Cache {
        with(Some(Outline::of(&json!({"metadata": {"labels": {"a": ""}}, "spec": {"ports": 1}}))))
    }

    fn named(name: &str, version: u64, ports: &Value, n: i32) -> Live {
        serde_json::from_value(json!({
            "metadata": {
                "name": name, "namespace": "ns", "uid": "u", "resourceVersion": version.to_string(),
                "ownerReferences": [{
                    "apiVersion": "example.com/v1", "kind": "Cluster", "name": "x", "uid": "o", "controller": true,
                }],
            },
            "spec": {"ports": ports}, "status": {"availableReplicas": n},
        }))
        .unwrap()
    }

    fn object(version: u64, ports: &Value, n: i32) -> Live {
        named("x", version, ports, n)
    }

    fn available(cache: &Cache) -> i32 {
        let seen = cache.get(&key()).unwrap();
        seen.view.as_ref().unwrap().get::<Rollout>().unwrap().available
    }

    #[test]
    fn a_child_with_another_name_is_found_by_its_owner() {
        let cache = cache();
        let config = Key { name: "x-config".into(), ..key() };
        assert_eq!(cache.observe(Event::Apply(named("x-config", 5, &json!(1), 0))), [key()]);
        assert_eq!(cache.of(&key(), "o").into_iter().map(|(key, _)| key).collect::<Vec<_>>(), [config]);
        assert!(cache.of(&key(), "another").is_empty());
        assert_eq!(cache.observe(Event::Delete(named("x-config", 6, &json!(1), 0))), [key()]);
        assert_eq!(cache.sizes(), [0; 4]);
    }

    #[test]
    fn all_who_wait_for_a_name_are_reconciled_when_it_becomes_free() {
        let cache = cache();
        let mut foreign = object(5, &json!(1), 0);
        foreign.metadata.owner_references = None;
        assert!(cache.observe(Event::Apply(foreign.clone())).is_empty());
        let other = Key { name: "y".into(), ..key() };
        cache.wait(&key(), &key());
        cache.wait(&key(), &other);
        assert_eq!(cache.observe(Event::Delete(foreign)), [key(), other]);
        assert_eq!(cache.sizes(), [0; 4]);
    }

    #[test]
    fn without_an_outline_a_change_of_the_generation_is_news_and_a_status_only_if_its_view_changes() {
        let cache = with(None);
        let at = |version: u64, generation: Option<i64>, n: i32| {
            let mut object = object(version, &json!(1), n);
            object.metadata.generation = generation;
            Event::Apply(object)
        };
        assert_eq!(cache.observe(at(1, Some(1), 0)), [key()]);
        assert!(cache.observe(at(2, Some(1), 0)).is_empty());
        assert_eq!(cache.observe(at(3, Some(1), 1)), [key()]);
        assert_eq!(cache.observe(at(4, Some(2), 1)), [key()]);
        assert_eq!(cache.observe(at(5, None, 1)), [key()]);
        assert_eq!(cache.observe(at(6, None, 1)), [key()]);
    }

    fn key() -> Key {
        Key { namespace: "ns".into(), name: "x".into() }
    }

    #[test]
    fn the_echo_of_an_own_write_is_not_a_change() {
        let cache = cache();
        cache.applied(&object(5, &json!(1), 0), Some(0));
        assert!(cache.observe(Event::Apply(object(5, &json!(1), 0))).is_empty());
        assert_eq!(cache.observe(Event::Apply(object(6, &json!(2), 0))), [key()]);
    }

    #[test]
    fn an_old_event_does_not_undo_what_a_write_returned() {
        let cache = cache();
        cache.applied(&object(5, &json!(1), 7), Some(0));
        assert!(cache.observe(Event::Apply(object(4, &json!(9), 3))).is_empty());
        assert_eq!(available(&cache), 7);
    }

    #[test]
    fn without_an_outline_what_was_applied_counts_until_the_object_changes() {
        let cache = with(None);
        let at = |version: u64, generation: i64| {
            let mut object = object(version, &json!(1), 0);
            object.metadata.generation = Some(generation);
            object
        };
        let digest = || cache.get(&key()).unwrap().digest;
        cache.observe(Event::Apply(at(1, 1)));
        assert_ne!(digest(), 9);
        assert!(!cache.applied(&at(1, 1), Some(9)), "nothing changed");
        assert_eq!(digest(), 9);
        assert!(cache.observe(Event::Apply(at(2, 1))).is_empty(), "another part of the object");
        assert_eq!(cache.observe(Event::Apply(at(3, 2))), [key()]);
        assert_ne!(digest(), 9, "somebody changed the spec");
        assert!(cache.applied(&at(4, 3), Some(9)), "reverted");
        assert_eq!(digest(), 9);
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
        cache.applied(&object(6, &json!(1), 0), Some(0));
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
        let wanted = cache.outline.as_ref().unwrap().digest_of(&json!({"spec": {"ports": 1}}));
        cache.applied(&object(5, &json!(2), 0), Some(wanted));
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
        cache.applied(&object(102, &json!(1), 7), Some(0));
        assert_eq!(available(&cache), 7);
    }

    #[test]
    fn a_list_does_not_undo_what_was_written_while_it_ran() {
        let cache = cache();
        cache.observe(Event::Init);
        cache.applied(&object(10, &json!(1), 7), Some(0));
        assert!(cache.observe(Event::InitApply(object(8, &json!(2), 3))).is_empty());
        cache.observe(Event::InitDone);
        assert_eq!(available(&cache), 7);
    }

    #[test]
    fn a_late_response_that_admission_plugins_changed_leaves_nothing_behind() {
        let cache = cache();
        cache.observe(Event::Apply(object(4, &json!(1), 0)));
        cache.observe(Event::Delete(object(8, &json!(1), 0)));
        cache.applied(&object(6, &json!(2), 0), Some(12345));
        assert_eq!(cache.sizes(), [0; 4]);
    }
}
