//! What was last observed of the children of one kind in one watched namespace, in a few bytes each. Pure.
//!
//! The table is fed by the watch and by the responses to the controller's own writes, so that a reconcile that follows a write
//! already sees it (nothing is written twice because a watch lags), and an event without a change triggers nothing.

use crate::controller::object::Key;
use crate::controller::outline::Outline;
use crate::controller::raw_object::{RawObject, version_of};
use crate::controller::view::{AnyView, ParseView};
use crate::labels::MANAGED_BY;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::core::ApiResource;
use kube::runtime::watcher::Event;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// The object that controls another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) uid: String,
    /// Its key, if it is of the controller's own kind.
    pub(crate) key: Option<Key>,
}

/// What a cache keeps of one object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ObservedChild {
    /// The object's own uid.
    pub(crate) uid: String,
    /// The object that controls it.
    pub(crate) owner: Option<Owner>,
    /// Digest of the fields that the controller applies; without an outline, of the generation and the labels or, of kinds
    /// without generations, of the resource version. If nothing of that changed since an apply, the digest of what was
    /// applied: admission plugins may have changed it.
    pub(crate) digest: u64,
    /// Being deleted: it can only be created again once it is gone.
    pub(crate) deleting: Option<Box<Deletion>>,
    /// The watch does not report it: it has lost its label, or is gone.
    pub(crate) unwatched: bool,
    /// What else the controller uses of the kind; `None` if it could not be parsed.
    pub(crate) view: Option<AnyView>,
}

/// What the deletion of an object waits for. Boxed, as few objects are being deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Deletion {
    pub(crate) finalizers: Vec<String>,
}

impl ObservedChild {
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

/// A state of an object: its uid, its generation and its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Revision {
    uid: String,
    generation: Option<i64>,
    version: Option<u64>,
}

struct ChildEntry {
    version: Option<u64>,
    /// The list since which this is known.
    list: u64,
    /// The digest of the content of a generation: the content changes only with the generation.
    content: (Option<i64>, u64),
    seen: Arc<ObservedChild>,
}

#[derive(Default)]
struct State {
    entries: HashMap<Key, ChildEntry>,
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

/// How objects of a kind are compared, and what is kept of them.
struct ChildConfig {
    kind: String,
    owners: OwnerKind,
    outline: Option<Outline>,
    parse: ParseView,
}

/// What is known of the children of a kind.
pub(crate) struct ChildTable {
    config: ChildConfig,
    state: State,
}

impl ChildTable {
    /// Returns an empty table of a kind; `outline` is what is applied to it, if digests are compared.
    pub(crate) fn new(kind: &str, owners: OwnerKind, outline: Option<Outline>, parse: ParseView) -> Self {
        Self {
            config: ChildConfig { kind: kind.to_owned(), owners, outline, parse },
            state: State::default(),
        }
    }

    /// Returns what was last observed under this name.
    pub(crate) fn get(&self, key: &Key) -> Option<Arc<ObservedChild>> {
        self.state.entries.get(key).map(|entry| Arc::clone(&entry.seen))
    }

    /// Returns what was last observed of everything that belongs to an object, sorted by name.
    pub(crate) fn owned_by(&self, owner: &Key, uid: &str) -> Vec<(Key, Arc<ObservedChild>)> {
        let state = &self.state;
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
    pub(crate) fn wait(&mut self, key: &Key, owner: &Key) {
        self.state.waiting.entry(key.clone()).or_default().insert(owner.clone());
    }

    /// Forgets that objects wait that no longer exist.
    pub(crate) fn retain_waiting(&mut self, exists: impl Fn(&Key) -> bool) {
        self.state.waiting.retain(|_, owners| {
            owners.retain(&exists);
            !owners.is_empty()
        });
    }

    /// Returns how many objects are known, of how many a change by admission plugins, and how many wait.
    pub(crate) fn sizes(&self) -> [usize; 4] {
        let state = &self.state;
        let waiting = state.waiting.values().map(BTreeSet::len).sum();
        [state.entries.len(), state.mutated.len(), waiting, state.renamed.len()]
    }

    /// Records a watch event; returns the objects that the watch has lost, with their owners, and the owners of objects whose
    /// change the controller has to look at.
    pub(crate) fn observe(&mut self, event: Event<RawObject>) -> (Vec<(Key, Key)>, Vec<Key>) {
        let mut lost = Vec::new();
        let owners = self.record(event, &mut lost);
        (lost, owners)
    }

    fn record(&mut self, event: Event<RawObject>, lost: &mut Vec<(Key, Key)>) -> Vec<Key> {
        let Self { config, state } = self;
        match event {
            Event::Init => {
                state.listing = Some(HashSet::new());
                state.lists += 1;
                state.newest_listed = 0;
                state.restored = false;
                Vec::new()
            }
            Event::InitApply(object) => {
                let key = Key::from(&object.metadata);
                if let Some(listing) = &mut state.listing {
                    listing.insert(key);
                }
                config.insert(state, &object, None)
            }
            Event::InitDone => {
                let listed = state.listing.take().unwrap_or_default();
                let gone =
                    state.entries.keys().filter(|key| !listed.contains(key)).cloned().collect::<Vec<_>>();
                let owners = gone.iter().flat_map(|key| state.lose(key, lost)).collect();
                let State { entries, mutated, .. } = state;
                mutated.retain(|key, _| entries.contains_key(key));
                if state.restored {
                    tracing::warn!(
                        kind = config.kind,
                        "resource versions went backwards; was etcd restored from a backup?"
                    );
                    state.watched = state.newest_listed;
                }
                owners
            }
            Event::Apply(object) => config.insert(state, &object, None),
            Event::Delete(object) => {
                let key = Key::from(&object.metadata);
                state.watched = state.watched.max(version_of(&object.metadata).unwrap_or_default());
                state.mutated.remove(&key);
                // What is deleted gracefully, or by this controller, is gone. Anything else may only have lost its label: the
                // event is the same.
                if object.metadata.deletion_timestamp.is_some() {
                    state.remove(&key)
                } else {
                    state.lose(&key, lost)
                }
            }
        }
    }

    /// Returns the objects of an owner that the watch does not report.
    pub(crate) fn unwatched(&self, owner: &Key, uid: &str) -> Vec<Key> {
        let own = self.owned_by(owner, uid).into_iter();
        own.filter(|(_, seen)| seen.unwatched).map(|(key, _)| key).collect()
    }

    /// Records an object that a request has found, whether or not the watch reports it.
    pub(crate) fn found(&mut self, object: &RawObject, manager: &str) {
        let Self { config, state } = self;
        let key = Key::from(&object.metadata);
        let content = config.content(object);
        config.insert(state, object, Some(content));
        let label = object.metadata.labels.as_ref().and_then(|labels| labels.get(MANAGED_BY));
        if let Some(entry) = state.entries.get_mut(&key) {
            Arc::make_mut(&mut entry.seen).unwatched = label.is_none_or(|label| label != manager);
        }
    }

    /// Records that an object does not exist.
    pub(crate) fn gone(&mut self, key: &Key) {
        self.state.mutated.remove(key);
        self.state.remove(key);
    }

    /// Records that this controller deleted an object.
    pub(crate) fn deleted(&mut self, key: &Key, uid: &str) {
        if let Some(entry) = self.state.entries.get_mut(key).filter(|entry| entry.seen.uid == uid) {
            Arc::make_mut(&mut entry.seen).deleting.get_or_insert_default();
        }
    }

    /// Forgets what the watch has lost of an owner that no longer exists.
    pub(crate) fn forget_lost(&mut self, owner: &Key) {
        let renamed = self.state.renamed.get(owner).into_iter().flatten();
        let lost = std::iter::once(owner).chain(renamed).filter(|key| {
            self.state.entries.get(key).is_some_and(|entry| {
                entry.seen.unwatched
                    && entry.seen.owner.as_ref().is_some_and(|of| of.key.as_ref() == Some(owner))
            })
        });
        for key in lost.cloned().collect::<Vec<_>>() {
            self.state.remove(&key);
        }
    }

    /// Returns which state of an object is known, to tell what a write changes.
    pub(crate) fn revision(&self, key: &Key) -> Option<Revision> {
        self.state.entries.get(key).map(|entry| Revision {
            uid: entry.seen.uid.clone(),
            generation: entry.content.0,
            version: entry.version,
        })
    }

    /// Records the response to an apply of an object with the digest `wanted`.
    pub(crate) fn applied(&mut self, object: &RawObject, wanted: Option<u64>) {
        let Self { config, state } = self;
        let key = Key::from(&object.metadata);
        // The watch may be ahead already, even past a deletion.
        let ahead = version_of(&object.metadata).is_some_and(|version| version <= state.watched);
        let content = config.content(object);
        if let Some(wanted) = wanted {
            let live = config.live_digest(&object.metadata, content);
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
            config.insert(state, object, Some(content));
        }
    }

    /// Whether an apply is known to change something: digests cover the fields that are applied, and nothing else.
    pub(crate) fn is_exact(&self) -> bool {
        self.config.outline.is_some()
    }
}

impl ChildConfig {
    fn content(&self, object: &RawObject) -> u64 {
        self.outline.as_ref().map_or(0, |outline| outline.content_digest(object.json()))
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

    fn digest(&self, state: &State, key: &Key, metadata: &ObjectMeta, content: u64) -> u64 {
        let live = self.live_digest(metadata, content);
        match state.mutated.get(key) {
            Some((wanted, mutated)) if *mutated == live => *wanted,
            _ => live,
        }
    }

    /// Records an object that the watch reported or, with the digest of its content, one that a write returned.
    fn insert(&self, state: &mut State, object: &RawObject, written: Option<u64>) -> Vec<Key> {
        let key = Key::from(&object.metadata);
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
        let view = (self.parse)(object.json()).inspect_err(
            |error| tracing::warn!(%error, kind = self.kind, object = %key, "failed to parse an object"),
        );
        let seen = Arc::new(ObservedChild {
            uid: uid.to_owned(),
            owner: self.owners.owner(&object.metadata),
            digest: self.digest(state, &key, &object.metadata, content),
            deleting: object
                .metadata
                .deletion_timestamp
                .is_some()
                .then(|| Box::new(deletion(&object.metadata))),
            unwatched: false,
            view: view.ok(),
        });
        let mut affected = Vec::new();
        if old.is_none_or(|old| *old.seen != *seen) {
            affected.extend(state.owners(&key));
            state.index(&key, &seen);
            affected.extend(seen.owner.as_ref().and_then(|owner| owner.key.clone()));
            affected.dedup();
        }
        state
            .entries
            .insert(key, ChildEntry { version, list: state.lists, content: (generation, content), seen });
        affected
    }
}

fn deletion(metadata: &ObjectMeta) -> Deletion {
    Deletion { finalizers: metadata.finalizers.clone().unwrap_or_default() }
}

impl Revision {
    /// Whether an object differs from this in what controllers apply.
    pub(crate) fn differs(&self, object: &RawObject) -> bool {
        let generation = object.metadata.generation;
        object.metadata.uid.as_ref() != Some(&self.uid)
            || match generation {
                Some(_) => generation != self.generation,
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
    fn index(&mut self, key: &Key, seen: &ObservedChild) {
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

    /// Records that the watch no longer reports an object; returns who has to look at it. An object of this controller's kind may
    /// still own it.
    fn lose(&mut self, key: &Key, lost: &mut Vec<(Key, Key)>) -> Vec<Key> {
        let Some(entry) = self.entries.get_mut(key) else { return Vec::new() };
        let owner = entry.seen.owner.as_ref().and_then(|owner| owner.key.clone());
        let Some(owner) = owner.filter(|_| entry.seen.deleting.is_none()) else { return self.remove(key) };
        Arc::make_mut(&mut entry.seen).unwatched = true;
        lost.push((key.clone(), owner));
        self.owners(key)
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

    fn with(outline: Option<Outline>) -> ChildTable {
        ChildTable::new("Deployment", owner_kind(), outline, AnyView::parse::<Rollout>)
    }

    fn empty() -> ChildTable {
        with(Some(Outline::from_example(&json!({"metadata": {"labels": {"a": ""}}, "spec": {"ports": 1}}))))
    }

    fn named(name: &str, version: u64, ports: &Value, n: i32) -> RawObject {
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

    fn object(version: u64, ports: &Value, n: i32) -> RawObject {
        named("x", version, ports, n)
    }

    impl ChildTable {
        /// Records an event, and that what the watch has lost does not exist.
        fn see(&mut self, event: Event<RawObject>) -> Vec<Key> {
            let (lost, owners) = self.observe(event);
            for (key, _) in &lost {
                self.gone(key);
            }
            owners
        }
    }

    fn available(table: &ChildTable) -> i32 {
        let seen = table.get(&key()).unwrap();
        seen.view.as_ref().unwrap().get::<Rollout>().unwrap().available
    }

    #[test]
    fn child_with_another_name_is_found_by_its_owner() {
        let mut table = empty();
        let config = Key { name: "x-config".into(), ..key() };
        assert_eq!(table.see(Event::Apply(named("x-config", 5, &json!(1), 0))), [key()]);
        assert_eq!(table.owned_by(&key(), "o").into_iter().map(|(key, _)| key).collect::<Vec<_>>(), [config]);
        assert!(table.owned_by(&key(), "another").is_empty());
        assert_eq!(table.see(Event::Delete(named("x-config", 6, &json!(1), 0))), [key()]);
        assert_eq!(table.sizes(), [0; 4]);
    }

    #[test]
    fn waiting_owners_are_reconciled_when_a_name_becomes_free() {
        let mut table = empty();
        let mut foreign = object(5, &json!(1), 0);
        foreign.metadata.owner_references = None;
        assert!(table.see(Event::Apply(foreign.clone())).is_empty());
        let other = Key { name: "y".into(), ..key() };
        table.wait(&key(), &key());
        table.wait(&key(), &other);
        assert_eq!(table.see(Event::Delete(foreign)), [key(), other]);
        assert_eq!(table.sizes(), [0; 4]);
    }

    #[test]
    fn table_without_an_outline_reports_generations_and_changed_views() {
        let mut table = with(None);
        let at = |version: u64, generation: Option<i64>, n: i32| {
            let mut object = object(version, &json!(1), n);
            object.metadata.generation = generation;
            Event::Apply(object)
        };
        assert_eq!(table.see(at(1, Some(1), 0)), [key()]);
        assert!(table.see(at(2, Some(1), 0)).is_empty());
        assert_eq!(table.see(at(3, Some(1), 1)), [key()]);
        assert_eq!(table.see(at(4, Some(2), 1)), [key()]);
        assert_eq!(table.see(at(5, None, 1)), [key()]);
        assert_eq!(table.see(at(6, None, 1)), [key()]);
    }

    fn key() -> Key {
        Key { namespace: "ns".into(), name: "x".into() }
    }

    #[test]
    fn echo_of_an_own_write_is_not_a_change() {
        let mut table = empty();
        table.applied(&object(5, &json!(1), 0), Some(0));
        assert!(table.see(Event::Apply(object(5, &json!(1), 0))).is_empty());
        assert_eq!(table.see(Event::Apply(object(6, &json!(2), 0))), [key()]);
    }

    #[test]
    fn old_event_does_not_undo_what_a_write_returned() {
        let mut table = empty();
        table.applied(&object(5, &json!(1), 7), Some(0));
        assert!(table.see(Event::Apply(object(4, &json!(9), 3))).is_empty());
        assert_eq!(available(&table), 7);
    }

    #[test]
    fn table_without_an_outline_keeps_what_was_applied_until_the_object_changes() {
        let mut table = with(None);
        let at = |version: u64, generation: i64| {
            let mut object = object(version, &json!(1), 0);
            object.metadata.generation = Some(generation);
            object
        };
        let digest = |table: &ChildTable| table.get(&key()).unwrap().digest;
        table.see(Event::Apply(at(1, 1)));
        assert_ne!(digest(&table), 9);
        table.applied(&at(1, 1), Some(9));
        assert_eq!(digest(&table), 9);
        assert!(table.see(Event::Apply(at(2, 1))).is_empty(), "another part of the object");
        assert_eq!(table.see(Event::Apply(at(3, 2))), [key()]);
        assert_ne!(digest(&table), 9, "somebody changed the spec");
        table.applied(&at(4, 3), Some(9));
        assert_eq!(digest(&table), 9);
    }

    #[test]
    fn revision_differs_if_what_is_applied_changed() {
        let mut table = with(None);
        let at = |version: u64, generation: Option<i64>| {
            let mut object = object(version, &json!(1), 0);
            object.metadata.generation = generation;
            object
        };
        assert_eq!(table.revision(&key()), None);
        table.see(Event::Apply(at(1, Some(1))));
        let before = table.revision(&key()).unwrap();
        // The watch may report a write before its response arrives.
        table.see(Event::Apply(at(3, Some(2))));
        assert!(before.differs(&at(3, Some(2))));
        assert!(!before.differs(&at(2, Some(1))), "only the status");
        table.see(Event::Apply(at(4, None)));
        assert!(table.revision(&key()).unwrap().differs(&at(5, None)), "a kind without generations");
    }

    #[test]
    fn spec_is_parsed_again_when_its_generation_changes_or_is_missing() {
        let mut table = empty();
        let at = |version: u64, generation: Option<i64>, ports: i32| {
            let mut object = object(version, &json!(ports), 0);
            object.metadata.generation = generation;
            Event::Apply(object)
        };
        table.see(at(1, Some(1), 1));
        assert!(table.see(at(2, Some(1), 1)).is_empty());
        assert_eq!(table.see(at(3, Some(2), 2)), [key()]);
        assert_eq!(table.see(at(4, None, 3)), [key()]);
        assert_eq!(table.see(at(5, None, 4)), [key()]);
    }

    #[test]
    fn late_response_does_not_bring_back_a_deleted_object() {
        let mut table = empty();
        table.see(Event::Apply(object(4, &json!(1), 0)));
        assert_eq!(table.see(Event::Delete(object(8, &json!(1), 0))), [key()]);
        table.applied(&object(6, &json!(1), 0), Some(0));
        assert!(table.get(&key()).is_none());
    }

    #[test]
    fn list_removes_what_no_longer_exists() {
        let mut table = empty();
        table.see(Event::Apply(object(4, &json!(1), 0)));
        table.see(Event::Init);
        assert_eq!(table.see(Event::InitDone), [key()]);
        assert!(table.get(&key()).is_none());
    }

    #[test]
    fn changes_by_admission_plugins_are_not_reverted_again_and_again() {
        let mut table = empty();
        let wanted = table.config.outline.as_ref().unwrap().digest_of(&json!({"spec": {"ports": 1}}));
        table.applied(&object(5, &json!(2), 0), Some(wanted));
        assert_eq!(table.get(&key()).unwrap().digest, wanted);
        table.see(Event::Apply(object(6, &json!(3), 0)));
        assert_ne!(table.get(&key()).unwrap().digest, wanted, "a later change is drift again");
    }

    #[test]
    fn list_replaces_newer_versions_that_were_known_before_it_began() {
        // Versions go back when etcd is restored from a backup.
        let mut table = empty();
        let listed = |version: u64, ports: i32| {
            let mut object = object(version, &json!(ports), 0);
            object.metadata.generation = Some(5);
            object
        };
        table.see(Event::Apply(listed(900, 1)));
        table.see(Event::Init);
        assert_eq!(table.see(Event::InitApply(listed(100, 2))), [key()], "of the same generation, too");
        table.see(Event::InitDone);
        // The watch and the own writes go on from there.
        assert_eq!(table.see(Event::Apply(object(101, &json!(3), 0))), [key()]);
        table.applied(&object(102, &json!(1), 7), Some(0));
        assert_eq!(available(&table), 7);
    }

    #[test]
    fn list_does_not_undo_what_was_written_while_it_ran() {
        let mut table = empty();
        table.see(Event::Init);
        table.applied(&object(10, &json!(1), 7), Some(0));
        assert!(table.see(Event::InitApply(object(8, &json!(2), 3))).is_empty());
        table.see(Event::InitDone);
        assert_eq!(available(&table), 7);
    }

    #[test]
    fn late_response_that_admission_plugins_changed_leaves_nothing_behind() {
        let mut table = empty();
        table.see(Event::Apply(object(4, &json!(1), 0)));
        table.see(Event::Delete(object(8, &json!(1), 0)));
        table.applied(&object(6, &json!(2), 0), Some(12345));
        assert_eq!(table.sizes(), [0; 4]);
    }

    #[test]
    fn object_that_the_watch_lost_is_known_until_it_is_found_or_gone() {
        let mut table = with(None);
        table.observe(Event::Apply(object(5, &json!(1), 0)));
        let (lost, owners) = table.observe(Event::Delete(object(6, &json!(1), 0)));
        assert_eq!((lost, owners), (vec![(key(), key())], vec![key()]));
        assert_eq!(table.unwatched(&key(), "o"), [key()]);
        table.found(&object(6, &json!(1), 0), "me");
        assert!(table.get(&key()).unwrap().unwatched, "it has no label");
        let mut labelled = object(7, &json!(1), 0);
        labelled.metadata.labels = Some([(MANAGED_BY.to_owned(), "me".to_owned())].into());
        table.observe(Event::Apply(labelled));
        assert!(table.unwatched(&key(), "o").is_empty());
        table.observe(Event::Delete(object(8, &json!(1), 0)));
        table.forget_lost(&key());
        assert_eq!(table.sizes(), [0; 4]);
        table.observe(Event::Apply(object(9, &json!(1), 0)));
        table.deleted(&key(), "u");
        assert!(table.observe(Event::Delete(object(10, &json!(1), 0))).0.is_empty(), "it was deleted here");
        assert_eq!(table.sizes(), [0; 4]);
    }
}
