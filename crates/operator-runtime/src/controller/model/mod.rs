//! What is known of everything that a controller works with in one watched namespace (or in all).
//!
//! The tables in this directory are pure: each transition is a function of what was known and of what happened, and has unit
//! tests. [`Model`] holds the only locks. What happens is a watch event, a response to an own write, or the end of a reconcile.

mod children;
mod history;
mod objects;
mod references;
mod related;
mod write_budget;

pub(crate) use children::{ChildTable, ObservedChild, OwnerKind, controller_uid};
#[cfg(test)]
pub(crate) use children::{Deletion, Owner};
pub(crate) use history::{ReconcileHistory, StatusDue};
pub(crate) use references::{ReferenceTable, Views};

use super::children::Outlines;
use super::object::{Key, Object};
use super::observed::Snapshot;
use super::raw_object::RawObject;
use super::references::Reference;
use super::stored::Stored;
use super::watches::{Declared, Refers};
use crate::lock::lock;
use crate::problem::ReconcileProblem;
use kube::Resource;
use kube::runtime::reflector::Store;
use kube::runtime::reflector::store::Writer;
use kube::runtime::watcher::Event;
use objects::ObjectTable;
use related::RelatedTable;
use std::sync::{Arc, Mutex, MutexGuard};

/// Why an object's references cannot be followed.
#[derive(Clone, Debug)]
pub(crate) enum ReferenceFailure {
    /// One is to a namespace that is not watched: there seems to be nothing.
    NotWatched(String),
    /// The objects of a kind could not be listed yet: nothing is known of what it refers to.
    Unreadable(String),
}

impl ReferenceFailure {
    pub(crate) fn problem(&self) -> ReconcileProblem {
        match self {
            Self::NotWatched(message) => ReconcileProblem::new("NamespaceNotWatched", message),
            Self::Unreadable(message) => ReconcileProblem::new("ReferencesUnreadable", message),
        }
    }
}

/// What the objects of a controller refer to; shared by the models of all namespaces.
pub(crate) struct ReferenceModel<O> {
    tables: Vec<Mutex<ReferenceTable>>,
    refers: Vec<Refers<O>>,
    /// The namespaces that are watched; empty for all.
    namespaces: Vec<String>,
}

impl<O: Object> ReferenceModel<O> {
    pub(crate) fn new(declared: &Declared, refers: Vec<Refers<O>>, namespaces: Vec<String>) -> Self {
        let tables = declared.references.iter().map(|kind| Mutex::new(ReferenceTable::new(kind))).collect();
        Self { tables, refers, namespaces }
    }

    /// Records an event of the watch of a kind in a namespace (or in all); returns the objects to reconcile.
    pub(crate) fn event(&self, kind: usize, scope: Option<&str>, event: Event<RawObject>) -> Vec<Key> {
        lock(&self.tables[kind]).observe(scope, event)
    }

    /// Records that the objects of a kind in a namespace (or in all) could not be listed, for this reason.
    pub(crate) fn refused(&self, kind: usize, scope: Option<&str>, reason: String) {
        lock(&self.tables[kind]).refused(scope, reason);
    }

    /// Returns what an object refers to, by kind, and which reference of it cannot be followed.
    fn resolve(&self, key: &Key, object: &O, declared: &Declared) -> (Vec<Views>, Option<ReferenceFailure>) {
        let (mut unwatched, mut unreadable) = (None, None);
        let found = self.tables.iter().zip(&self.refers).zip(&declared.references);
        let views = found.map(|((table, refers), kind)| {
            let references = refers(object);
            let elsewhere = |reference: &Reference| {
                let namespace = reference.namespace(kind.namespaced, &key.namespace)?;
                let watched = self.namespaces.is_empty() || self.namespaces.contains(&namespace);
                (kind.namespaced && !watched).then(|| {
                    let kind = &kind.resource.kind;
                    format!(
                        "refers to a {kind} in the namespace {namespace}, which the operator does not watch"
                    )
                })
            };
            unwatched = unwatched.take().or_else(|| references.iter().find_map(elsewhere));
            let mut table = lock(table);
            unreadable = unreadable.take().or_else(|| table.unreadable(key, &references));
            table.refer(key, &references)
        });
        let views = views.collect();
        let unreadable = unreadable.map(ReferenceFailure::Unreadable);
        (views, unreadable.or_else(|| unwatched.map(ReferenceFailure::NotWatched)))
    }

    fn forget(&self, key: &Key) {
        for table in &self.tables {
            lock(table).forget(key);
        }
    }

    fn retain(&self, exists: impl Fn(&Key) -> bool) {
        for table in &self.tables {
            lock(table).retain(&exists);
        }
    }

    /// Returns how many objects and referrers are known.
    pub(crate) fn size(&self) -> usize {
        self.tables.iter().flat_map(|table| lock(table).sizes()).sum()
    }
}

/// What is known of the objects that are reconciled, of their children, and of what is related to them.
pub(crate) struct Model<O: Object> {
    /// What the watch reported last; kube's queue reads it, too.
    store: Store<Stored<O>>,
    objects: Mutex<ObjectTable<Stored<O>>>,
    /// By kind.
    children: Vec<Mutex<ChildTable>>,
    related: Vec<Mutex<RelatedTable>>,
    references: Arc<ReferenceModel<O>>,
    declared: Arc<Declared>,
    /// The namespace of all objects; `None` if they are in several.
    namespace: Option<String>,
}

/// An own write of an object that is under way.
pub(crate) struct Hold<'a, O: Object> {
    model: &'a Model<O>,
    key: Key,
}

impl<O: Object> Hold<'_, O> {
    /// The write has ended; returns whether the watch has reported something else in the meantime.
    pub(crate) fn release(self) -> bool {
        lock(&self.model.objects).release(&self.key)
    }
}

impl<O: Object> Drop for Hold<'_, O> {
    fn drop(&mut self) {
        lock(&self.model.objects).release(&self.key);
    }
}

impl<O: Object> Model<O> {
    pub(crate) fn new(
        store: Store<Stored<O>>,
        declared: &Arc<Declared>,
        references: Arc<ReferenceModel<O>>,
        owner: &OwnerKind,
        outlines: &Outlines,
        namespace: Option<String>,
    ) -> Self {
        let children = declared.children.iter().zip(outlines);
        let children = children.map(|(kind, outline)| {
            let table = ChildTable::new(&kind.resource.kind, owner.clone(), outline.clone(), kind.parse);
            Mutex::new(table)
        });
        Self {
            store,
            objects: Mutex::default(),
            children: children.collect(),
            related: declared.related.iter().map(|kind| Mutex::new(RelatedTable::new(kind))).collect(),
            references,
            declared: Arc::clone(declared),
            namespace,
        }
    }

    /// Whether the watch knows an object.
    pub(crate) fn exists(&self, key: &Key) -> bool {
        self.store.get(&key.reference()).is_some()
    }

    /// Returns the newest state of an object that is known.
    pub(crate) fn newest(&self, stored: &Arc<Stored<O>>) -> Arc<Stored<O>> {
        lock(&self.objects).newest(stored)
    }

    /// Returns what is known of the children of a kind.
    pub(crate) fn child(&self, kind: usize) -> MutexGuard<'_, ChildTable> {
        lock(&self.children[kind])
    }

    /// Returns what is known of the children, by kind.
    pub(crate) fn children(&self) -> &[Mutex<ChildTable>] {
        &self.children
    }

    /// Changes what is remembered of an object between reconciles.
    pub(crate) fn history<T>(&self, key: &Key, change: impl FnOnce(&mut ReconcileHistory) -> T) -> T {
        change(lock(&self.objects).history(key))
    }

    /// Returns what the caches hold of what concerns an object, and which of its references cannot be followed.
    pub(crate) fn observe(&self, object: &Stored<O>) -> (Snapshot, Option<ReferenceFailure>) {
        let uid = object.meta().uid.as_deref().unwrap_or_default();
        let mut snapshot = Snapshot::empty(Key::from(object.meta()), &self.declared);
        let key = &snapshot.key;
        let children = self.children.iter().map(|table| lock(table).owned_by(key, uid)).collect();
        let related = self.related.iter().map(|table| lock(table).related_to(key)).collect();
        let mut failure = None;
        if let Some(object) = object.valid() {
            (snapshot.references, failure) = self.references.resolve(&snapshot.key, object, &self.declared);
        }
        snapshot.children = children;
        snapshot.related = related;
        (snapshot, failure)
    }

    /// Records the response to an own write, for reconciles that run before the watch reports it.
    pub(crate) fn object_written(&self, response: RawObject) -> Arc<Stored<O>> {
        let object = Arc::new(self.parse(response));
        lock(&self.objects).written(Arc::clone(&object));
        object
    }

    /// An own write of an object begins: the watch may report it before its response arrives.
    pub(crate) fn hold(&self, key: &Key) -> Hold<'_, O> {
        lock(&self.objects).hold(key);
        Hold { model: self, key: key.clone() }
    }

    /// Forgets an object that was deleted during its reconcile: the watch has reported the deletion already.
    pub(crate) fn forget_if_deleted(&self, key: &Key) {
        if !self.exists(key) {
            self.forget(key);
        }
    }

    fn forget(&self, key: &Key) {
        lock(&self.objects).deleted(key);
        for table in &self.children {
            lock(table).forget_lost(key);
        }
        self.references.forget(key);
    }

    /// Records an event of the objects themselves; returns those to reconcile.
    ///
    /// The responses to own writes count until the store has them: what is listed enters the store only at the list's end.
    pub(crate) fn object_event(&self, writer: &mut Writer<Stored<O>>, event: Event<RawObject>) -> Vec<Key> {
        let event = match event {
            Event::Apply(object) => Event::Apply(self.parse(object)),
            Event::Delete(object) => Event::Delete(self.parse(object)),
            Event::Init => Event::Init,
            Event::InitApply(object) => Event::InitApply(self.parse(object)),
            Event::InitDone => Event::InitDone,
        };
        writer.apply_watcher_event(&event);
        let mut objects = lock(&self.objects);
        match event {
            Event::Apply(object) if objects.reported(&object) => vec![Key::from(object.meta())],
            Event::Delete(object) => {
                drop(objects);
                self.forget(&Key::from(object.meta()));
                Vec::new()
            }
            Event::Init => {
                objects.list_began();
                Vec::new()
            }
            Event::InitDone => {
                let listed = self.store.state();
                for object in &listed {
                    objects.reported(object);
                }
                objects.list_ended(|key| self.exists(key));
                for table in &self.children {
                    lock(table).retain_waiting(|key| self.exists(key));
                }
                let elsewhere = |key: &Key| self.namespace.as_ref().is_some_and(|own| *own != key.namespace);
                self.references.retain(|key| elsewhere(key) || self.exists(key));
                listed.iter().map(|object| Key::from(object.meta())).collect()
            }
            Event::Apply(_) | Event::InitApply(_) => Vec::new(),
        }
    }

    /// Records an event of children of a kind; returns the objects to reconcile.
    pub(crate) fn child_event(&self, kind: usize, event: Event<RawObject>) -> Vec<Key> {
        let mut table = lock(&self.children[kind]);
        let (lost, keys) = table.observe(event);
        // Whoever exists finds out what became of it; of the others it was collected.
        for (key, owner) in lost.into_iter().filter(|(_, owner)| !self.exists(owner)) {
            table.gone(&key);
            tracing::trace!(%owner, "a child was collected with its owner");
        }
        keys
    }

    /// Records an event of related objects of a kind; returns the objects to reconcile.
    pub(crate) fn related_event(&self, kind: usize, event: Event<RawObject>) -> Vec<Key> {
        lock(&self.related[kind]).observe(event)
    }

    /// Returns how many things are kept, by what they are.
    pub(crate) fn sizes(&self) -> Vec<(&'static str, usize)> {
        let objects = lock(&self.objects).sizes();
        let children = self.children.iter().flat_map(|table| lock(table).sizes()).sum();
        let related = self.related.iter().flat_map(|table| lock(table).sizes()).sum();
        let mut sizes =
            vec![("objects", self.store.state().len()), ("children", children), ("related", related)];
        sizes.extend(objects);
        sizes
    }

    /// Returns the object, and records whether it could be parsed.
    fn parse(&self, raw: RawObject) -> Stored<O> {
        let object = Stored::parse(raw);
        let key = Key::from(object.meta());
        if let Some(error) = lock(&self.objects).parsed(&key, object.error().map(ToOwned::to_owned)) {
            tracing::warn!(object = %key, error, "failed to parse an object");
        }
        object
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sample::{Cluster, cluster, owner_kind};
    use kube::runtime::reflector::store::store;

    fn at(version: &str, size: i32) -> RawObject {
        let mut object = cluster(size);
        object.metadata.resource_version = Some(version.into());
        serde_json::from_value(serde_json::to_value(object).unwrap()).unwrap()
    }

    #[test]
    fn response_counts_until_the_list_that_contains_it_is_complete() {
        let (store, mut writer) = store();
        let references = Arc::new(ReferenceModel::new(&Declared::default(), Vec::new(), Vec::new()));
        let model: Model<Cluster> =
            Model::new(store.clone(), &Arc::default(), references, &owner_kind(), &Vec::new(), None);
        for event in [Event::Init, Event::InitApply(at("100", 1)), Event::InitDone] {
            model.object_event(&mut writer, event);
        }
        // Scaled by somebody, which only the response to an own write has shown; then the watch restarts.
        model.object_written(at("105", 3));
        let key = Key::from(&at("105", 3).metadata);
        let size = || model.newest(&store.state()[0]).valid().unwrap().spec.size;
        assert_eq!(size(), 3);
        for event in [Event::Init, Event::InitApply(at("105", 3))] {
            model.object_event(&mut writer, event);
            assert_eq!(size(), 3);
        }
        assert_eq!(model.object_event(&mut writer, Event::InitDone), std::slice::from_ref(&key));
        assert_eq!(size(), 3);
        assert_eq!(
            model.object_event(&mut writer, Event::Apply(at("106", 3))),
            [key],
            "forgotten once the store has it"
        );
    }
}
