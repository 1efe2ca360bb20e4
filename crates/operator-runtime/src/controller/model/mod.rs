//! What is known of everything that a controller works with in one watched namespace (or in all).
//!
//! The tables in this directory are pure: each transition is a function of what was known and of what happened, and has unit
//! tests. [`Model`] holds the only locks. What happens is a watch event, a response to an own write, or the end of a reconcile.

mod children;
mod history;
mod objects;
mod related;
mod write_budget;

#[cfg(test)]
pub(crate) use children::Owner;
pub(crate) use children::{ChildTable, ObservedChild, OwnerKind, controller_uid};
pub(crate) use history::{ReconcileHistory, StatusDue};
pub(crate) use related::Views;

use super::children::Outlines;
use super::object::{Key, Object};
use super::observed::Observed;
use super::raw_object::RawObject;
use super::watches::Watches;
use crate::context::Platform;
use crate::lock::lock;
use kube::runtime::reflector::Store;
use kube::runtime::reflector::store::Writer;
use kube::runtime::watcher::Event;
use objects::ObjectTable;
use related::RelatedTable;
use std::sync::{Arc, Mutex, MutexGuard};

/// What is known of the objects that are reconciled, of their children, and of what is related to them.
pub(crate) struct Model<O: Object> {
    /// What the watch reported last; kube's queue reads it, too.
    store: Store<O>,
    objects: Mutex<ObjectTable<O>>,
    /// By kind.
    children: Vec<Mutex<ChildTable>>,
    related: Vec<Mutex<RelatedTable>>,
    watches: Arc<Watches>,
    platform: Platform,
}

impl<O: Object> Model<O> {
    pub(crate) fn new(
        store: Store<O>,
        watches: &Arc<Watches>,
        owner: &OwnerKind,
        outlines: &Outlines,
        platform: Platform,
    ) -> Self {
        let children = watches.children.iter().zip(outlines);
        let children = children.map(|(kind, outline)| {
            let table = ChildTable::new(&kind.resource.kind, owner.clone(), outline.clone(), kind.parse);
            Mutex::new(table)
        });
        Self {
            store,
            objects: Mutex::default(),
            children: children.collect(),
            related: watches.related.iter().map(|kind| Mutex::new(RelatedTable::new(kind))).collect(),
            watches: Arc::clone(watches),
            platform,
        }
    }

    /// Whether the watch knows an object.
    pub(crate) fn exists(&self, key: &Key) -> bool {
        self.store.get(&key.reference()).is_some()
    }

    /// Returns the newest state of an object that is known.
    pub(crate) fn newest(&self, stored: &Arc<O>) -> Arc<O> {
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

    /// Returns what was observed of an object.
    pub(crate) fn observe(&self, object: &O) -> Observed {
        let key = Key::from(object.meta());
        let uid = object.meta().uid.as_deref().unwrap_or_default();
        let mut observed = Observed::empty(key, &self.watches, self.platform);
        observed.children =
            self.children.iter().map(|table| lock(table).owned_by(observed.key(), uid)).collect();
        observed.related = self.related.iter().map(|table| lock(table).related_to(observed.key())).collect();
        observed.malformed = lock(&self.objects).malformed(observed.key());
        observed
    }

    /// Records the response to an own write, for reconciles that run before the watch reports it.
    pub(crate) fn object_written(&self, response: RawObject) -> Arc<O> {
        let object = Arc::new(self.parse(response));
        lock(&self.objects).written(Arc::clone(&object));
        object
    }

    /// Forgets an object that was deleted during its reconcile: the watch has reported the deletion already.
    pub(crate) fn forget_if_deleted(&self, key: &Key) {
        if !self.exists(key) {
            lock(&self.objects).deleted(key);
        }
    }

    /// Records an event of the objects themselves; returns those to reconcile.
    ///
    /// The responses to own writes count until the store has them: what is listed enters the store only at the list's end.
    pub(crate) fn object_event(&self, writer: &mut Writer<O>, event: Event<RawObject>) -> Vec<Key> {
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
                objects.deleted(&Key::from(object.meta()));
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
                listed.iter().map(|object| Key::from(object.meta())).collect()
            }
            Event::Apply(_) | Event::InitApply(_) => Vec::new(),
        }
    }

    /// Records an event of children of a kind; returns the objects to reconcile.
    pub(crate) fn child_event(&self, kind: usize, event: Event<RawObject>) -> Vec<Key> {
        lock(&self.children[kind]).observe(event)
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

    /// Returns the object, and records whether its spec could be parsed.
    fn parse(&self, raw: RawObject) -> O {
        let (object, error) = raw.parse::<O>();
        let key = Key::from(object.meta());
        if let Some(error) = lock(&self.objects).parsed(&key, error) {
            tracing::warn!(object = %key, error, "failed to parse the spec");
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
        let model: Model<Cluster> =
            Model::new(store.clone(), &Arc::default(), &owner_kind(), &Vec::new(), Platform::default());
        for event in [Event::Init, Event::InitApply(at("100", 1)), Event::InitDone] {
            model.object_event(&mut writer, event);
        }
        // Scaled by somebody, which only the response to an own write has shown; then the watch restarts.
        model.object_written(at("105", 3));
        let key = Key::from(&at("105", 3).metadata);
        let size = || model.newest(&store.state()[0]).spec.size;
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
