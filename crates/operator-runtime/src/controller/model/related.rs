//! Objects of one kind that are related to those that a controller reconciles without being their children, such as pods. Pure.

use super::references::Views;
use crate::controller::object::Key;
use crate::controller::raw_object::RawObject;
use crate::controller::view::ParseView;
use crate::controller::watches::{Owners, RelatedKind};
use kube::runtime::watcher::Event;
use std::collections::{HashMap, HashSet};

#[derive(Default)]
struct State {
    /// Related objects by the object that they belong to.
    related: HashMap<Key, Views>,
    /// The objects that a related object was last observed with.
    owners_by_object: HashMap<Key, Vec<Key>>,
    listing: Option<HashSet<Key>>,
}

/// All objects of a kind in a watched namespace, by the objects that they belong to.
pub(crate) struct RelatedTable {
    kind: String,
    owners: Owners,
    parse: ParseView,
    state: State,
}

impl RelatedTable {
    pub(crate) fn new(kind: &RelatedKind) -> Self {
        Self {
            kind: kind.resource.kind.clone(),
            owners: kind.owners.clone(),
            parse: kind.parse,
            state: State::default(),
        }
    }

    /// Returns what is related to an object.
    pub(crate) fn related_to(&self, owner: &Key) -> Views {
        self.state.related.get(owner).cloned().unwrap_or_default()
    }

    /// Returns how many objects have related ones, and how many of those there are.
    pub(crate) fn sizes(&self) -> [usize; 2] {
        let state = &self.state;
        [state.related.len(), state.owners_by_object.len()]
    }

    /// Records a watch event; returns the objects whose related objects changed.
    pub(crate) fn observe(&mut self, event: Event<RawObject>) -> Vec<Key> {
        let state = &mut self.state;
        match event {
            Event::Init => {
                state.listing = Some(HashSet::new());
                Vec::new()
            }
            Event::InitApply(object) => {
                let key = Key::from(&object.metadata);
                if let Some(listing) = &mut state.listing {
                    listing.insert(key);
                }
                self.put(&object)
            }
            Event::InitDone => {
                let listed = state.listing.take().unwrap_or_default();
                let gone = state
                    .owners_by_object
                    .keys()
                    .filter(|key| !listed.contains(key))
                    .cloned()
                    .collect::<Vec<_>>();
                gone.iter().flat_map(|key| state.remove(key)).collect()
            }
            Event::Apply(object) => self.put(&object),
            Event::Delete(object) => state.remove(&Key::from(&object.metadata)),
        }
    }

    fn put(&mut self, object: &RawObject) -> Vec<Key> {
        let state = &mut self.state;
        let key = Key::from(&object.metadata);
        let view = match (self.parse)(object.json()) {
            Ok(view) => view,
            Err(error) => {
                tracing::warn!(%error, kind = self.kind, object = %key, "failed to parse an object");
                return state.remove(&key);
            }
        };
        let owners = (self.owners)(&object.metadata);
        let mut changed = Vec::new();
        if state.owners_by_object.get(&key).is_some_and(|known| *known != owners) {
            changed.extend(state.remove(&key));
        }
        for owner in &owners {
            let views = state.related.entry(owner.clone()).or_default();
            if views.get(&key) != Some(&view) {
                views.insert(key.clone(), view.clone());
                changed.push(owner.clone());
            }
        }
        state.owners_by_object.insert(key, owners);
        changed
    }
}

impl State {
    fn remove(&mut self, object: &Key) -> Vec<Key> {
        let owners = self.owners_by_object.remove(object).unwrap_or_default();
        for owner in &owners {
            let Some(views) = self.related.get_mut(owner) else { continue };
            views.remove(object);
            if views.is_empty() {
                self.related.remove(owner);
            }
        }
        owners
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::Watches;
    use crate::views::PodState;
    use k8s_openapi::api::core::v1::Pod;
    use serde_json::json;

    fn pods() -> RelatedTable {
        let mut watches = Watches::<crate::testing::sample::Cluster>::new();
        watches.by_label::<Pod, PodState>(crate::labels::INSTANCE);
        RelatedTable::new(&watches.declared.related[0])
    }

    fn pod(name: &str, instance: &str, phase: &str) -> RawObject {
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
    fn pod_is_a_change_only_when_it_appears_or_disappears() {
        let mut pods = pods();
        assert_eq!(pods.observe(Event::Apply(pod("p", "a", "Pending"))), [key("a")]);
        assert!(pods.observe(Event::Apply(pod("p", "a", "Running"))).is_empty());
        assert_eq!(pods.observe(Event::Apply(pod("p", "a", "Failed"))), [key("a")]);
        assert_eq!(pods.observe(Event::Delete(pod("p", "a", "Failed"))), [key("a")]);
        assert!(pods.related_to(&key("a")).is_empty());
    }

    #[test]
    fn pod_that_changes_its_label_moves_to_the_other_owner() {
        let mut pods = pods();
        pods.observe(Event::Apply(pod("p", "a", "Running")));
        assert_eq!(pods.observe(Event::Apply(pod("p", "b", "Running"))), [key("a"), key("b")]);
        assert!(pods.related_to(&key("a")).is_empty());
    }

    #[test]
    fn list_removes_what_no_longer_exists() {
        let mut pods = pods();
        pods.observe(Event::Apply(pod("p", "a", "Running")));
        pods.observe(Event::Init);
        pods.observe(Event::InitApply(pod("q", "a", "Running")));
        assert_eq!(pods.observe(Event::InitDone), [key("a")]);
        assert_eq!(pods.related_to(&key("a")).into_keys().map(|key| key.name).collect::<Vec<_>>(), ["q"]);
    }
}
