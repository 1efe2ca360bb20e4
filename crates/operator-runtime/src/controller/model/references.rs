//! The objects of one kind that others refer to, indexed from both sides. Pure.
//!
//! The views of all objects of the kind are kept, as an informer does: an object that is named for the first time is read without
//! a request. What a reference selects is not kept but looked up, so that memory does not grow with what selectors match.

use crate::controller::object::Key;
use crate::controller::raw_object::RawObject;
use crate::controller::references::{Reference, Target};
use crate::controller::view::{AnyView, ParseView};
use crate::controller::watches::ReferenceKind;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::SelectorExt;
use kube::runtime::watcher::Event;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Bound;

/// Views by namespace and name of the referenced object.
pub(crate) type Views = BTreeMap<Key, AnyView>;

/// A reference to one namespace or, without one, to all.
type Resolved = (Option<String>, Target);

struct Entry {
    labels: BTreeMap<String, String>,
    /// The uids of the owners.
    owners: Vec<String>,
    view: AnyView,
}

impl Entry {
    fn is_selected(&self, name: &str, target: &Target) -> bool {
        match target {
            Target::Name(wanted) => wanted == name,
            Target::Labels(selector) => selector.matches(&self.labels),
            Target::Owner(uid) => self.owners.contains(uid),
        }
    }
}

/// All objects of a kind, and what refers to them.
pub(crate) struct ReferenceTable {
    kind: String,
    namespaced: bool,
    parse: ParseView,
    objects: BTreeMap<Key, Entry>,
    /// What each object refers to.
    references: HashMap<Key, Vec<Resolved>>,
    /// Who refers to an object of this name.
    by_name: HashMap<Key, BTreeSet<Key>>,
    /// Who refers by labels, by owner or to names in all namespaces; by namespace.
    by_selection: HashMap<Option<String>, BTreeSet<Key>>,
    /// What the watches of each namespace have listed since they were restarted.
    listing: HashMap<Option<String>, HashSet<Key>>,
    /// Why the objects of a namespace, or of all, could not be listed; until they are.
    refused: HashMap<Option<String>, String>,
}

impl ReferenceTable {
    pub(crate) fn new(kind: &ReferenceKind) -> Self {
        Self {
            kind: kind.resource.kind.clone(),
            namespaced: kind.namespaced,
            parse: kind.parse,
            objects: BTreeMap::new(),
            references: HashMap::new(),
            by_name: HashMap::new(),
            by_selection: HashMap::new(),
            listing: HashMap::new(),
            refused: HashMap::new(),
        }
    }

    /// Records that the objects of a namespace (or of all) could not be listed, for this reason.
    pub(crate) fn refused(&mut self, scope: Option<&str>, reason: String) {
        self.refused.insert(scope.map(ToOwned::to_owned), reason);
    }

    /// Returns why nothing is known of what an object refers to; `None` if everything is.
    pub(crate) fn unreadable(&self, referrer: &Key, references: &[Reference]) -> Option<String> {
        let (scope, reason) = references.iter().find_map(|reference| {
            let wanted = reference.namespace(self.namespaced, &referrer.namespace);
            let concerns = |scope: &Option<String>| scope.is_none() || wanted.is_none() || *scope == wanted;
            self.refused.iter().filter(|(scope, _)| concerns(scope)).min()
        })?;
        let kind = &self.kind;
        Some(match scope {
            Some(namespace) => {
                format!("the {kind} objects in the namespace {namespace} cannot be listed: {reason}")
            }
            None => format!("the {kind} objects cannot be listed: {reason}"),
        })
    }

    /// Records what an object refers to, and returns it.
    pub(crate) fn refer(&mut self, referrer: &Key, references: &[Reference]) -> Views {
        let resolve = |reference: &Reference| -> Resolved {
            (reference.namespace(self.namespaced, &referrer.namespace), reference.target.clone())
        };
        let resolved = references.iter().map(resolve).collect::<Vec<_>>();
        if self.references.get(referrer).is_none_or(|known| *known != resolved) {
            self.forget(referrer);
            for reference in &resolved {
                self.index(referrer, reference);
            }
            if !resolved.is_empty() {
                self.references.insert(referrer.clone(), resolved.clone());
            }
        }
        let mut views = Views::new();
        for (namespace, target) in &resolved {
            self.select(namespace.as_deref(), target, &mut views);
        }
        views
    }

    fn index(&mut self, referrer: &Key, (namespace, target): &Resolved) {
        let referrers = match (namespace, target) {
            (Some(namespace), Target::Name(name)) => {
                self.by_name.entry(Key::new(namespace, name)).or_default()
            }
            _ => self.by_selection.entry(namespace.clone()).or_default(),
        };
        referrers.insert(referrer.clone());
    }

    fn select(&self, namespace: Option<&str>, target: &Target, views: &mut Views) {
        if let (Some(namespace), Target::Name(name)) = (namespace, target) {
            let key = Key::new(namespace, name);
            if let Some(entry) = self.objects.get(&key) {
                views.insert(key, entry.view.clone());
            }
            return;
        }
        let first = Key::new(namespace.unwrap_or_default(), "");
        let objects = self.objects.range((Bound::Included(first), Bound::Unbounded));
        let within =
            objects.take_while(|(key, _)| namespace.is_none_or(|namespace| key.namespace == namespace));
        for (key, entry) in within.filter(|(key, entry)| entry.is_selected(&key.name, target)) {
            views.insert(key.clone(), entry.view.clone());
        }
    }

    /// Forgets what an object refers to.
    pub(crate) fn forget(&mut self, referrer: &Key) {
        for (namespace, target) in self.references.remove(referrer).unwrap_or_default() {
            match (&namespace, target) {
                (Some(namespace), Target::Name(name)) => {
                    remove(&mut self.by_name, &Key::new(namespace, name), referrer);
                }
                _ => remove(&mut self.by_selection, &namespace, referrer),
            }
        }
    }

    /// Forgets what objects refer to that no longer exist.
    pub(crate) fn retain(&mut self, exists: impl Fn(&Key) -> bool) {
        let gone = self.references.keys().filter(|key| !exists(key)).cloned().collect::<Vec<_>>();
        for key in gone {
            self.forget(&key);
        }
    }

    /// Returns how many objects and how many referrers are known.
    pub(crate) fn sizes(&self) -> [usize; 2] {
        [self.objects.len(), self.references.len()]
    }

    /// Records an event of the watch of a namespace or, without one, of all; returns the objects that refer to what changed.
    pub(crate) fn observe(&mut self, scope: Option<&str>, event: Event<RawObject>) -> Vec<Key> {
        let scope = scope.map(ToOwned::to_owned);
        match event {
            Event::Init => {
                self.listing.insert(scope, HashSet::new());
                Vec::new()
            }
            Event::InitApply(object) => {
                if let Some(listing) = self.listing.get_mut(&scope) {
                    listing.insert(Key::from(&object.metadata));
                }
                self.put(&object)
            }
            Event::InitDone => {
                let listed = self.listing.remove(&scope).unwrap_or_default();
                let within = |key: &Key| scope.as_ref().is_none_or(|scope| *scope == key.namespace);
                let gone = self.objects.keys().filter(|key| within(key) && !listed.contains(key));
                let gone = gone.cloned().collect::<Vec<_>>();
                let referrers = gone.iter().flat_map(|key| self.remove(key)).collect();
                match self.refused.remove(&scope) {
                    // Every object with a reference waited for this list.
                    Some(_) => self.references.keys().cloned().collect(),
                    None => referrers,
                }
            }
            Event::Apply(object) => self.put(&object),
            Event::Delete(object) => self.remove(&Key::from(&object.metadata)),
        }
    }

    fn put(&mut self, object: &RawObject) -> Vec<Key> {
        let key = Key::from(&object.metadata);
        let view = match (self.parse)(object.json()) {
            Ok(view) => view,
            Err(error) => {
                tracing::warn!(%error, kind = self.kind, object = %key, "failed to parse an object");
                return self.remove(&key);
            }
        };
        let ObjectMeta { labels, owner_references, .. } = &object.metadata;
        let owners = owner_references.iter().flatten().map(|owner| owner.uid.clone()).collect();
        let new = Entry { labels: labels.clone().unwrap_or_default(), owners, view };
        let old = self.objects.get(&key);
        let referrers = match old {
            None => self.referrers(&key, |target| new.is_selected(&key.name, target)),
            Some(old) if old.view == new.view => self.referrers(&key, |target| {
                old.is_selected(&key.name, target) != new.is_selected(&key.name, target)
            }),
            Some(old) => self.referrers(&key, |target| {
                old.is_selected(&key.name, target) || new.is_selected(&key.name, target)
            }),
        };
        self.objects.insert(key, new);
        referrers
    }

    fn remove(&mut self, key: &Key) -> Vec<Key> {
        let Some(old) = self.objects.remove(key) else { return Vec::new() };
        self.referrers(key, |target| old.is_selected(&key.name, target))
    }

    /// Returns who refers to an object by a target for which this holds.
    fn referrers(&self, key: &Key, holds: impl Fn(&Target) -> bool) -> Vec<Key> {
        let mut found = BTreeSet::new();
        if holds(&Target::Name(key.name.clone())) {
            found.extend(self.by_name.get(key).into_iter().flatten().cloned());
        }
        for namespace in [None, Some(key.namespace.clone())] {
            for referrer in self.by_selection.get(&namespace).into_iter().flatten() {
                let references = self.references.get(referrer).into_iter().flatten();
                let mut here = references.filter(|(place, _)| *place == namespace);
                if here.any(|(_, target)| holds(target)) {
                    found.insert(referrer.clone());
                }
            }
        }
        found.into_iter().collect()
    }
}

fn remove<K: std::hash::Hash + Eq>(index: &mut HashMap<K, BTreeSet<Key>>, key: &K, referrer: &Key) {
    if let Some(referrers) = index.get_mut(key) {
        referrers.remove(referrer);
        if referrers.is_empty() {
            index.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::{Exists, Watches};
    use crate::testing::sample::Cluster;
    use crate::views::SecretData;
    use k8s_openapi::api::core::v1::{Namespace, Secret};
    use kube::core::{Expression, Selector};
    use serde_json::json;

    fn table() -> ReferenceTable {
        let mut watches = Watches::<Cluster>::new();
        watches.referenced::<Secret, SecretData>(|_| Vec::new());
        ReferenceTable::new(&watches.declared.references[0])
    }

    fn secret(namespace: &str, name: &str, label: &str, data: &str) -> RawObject {
        serde_json::from_value(json!({
            "metadata": {"name": name, "namespace": namespace, "labels": {"l": label},
                "ownerReferences": [{"apiVersion": "v1", "kind": "X", "name": "x", "uid": format!("of-{name}")}]},
            "data": {"k": k8s_openapi::ByteString(data.into())},
        }))
        .unwrap()
    }

    fn labelled(value: &str) -> Reference {
        Reference::labelled(Selector::from(Expression::Equal("l".into(), value.into())))
    }

    fn names(views: Views) -> Vec<String> {
        views.into_keys().map(|key| key.to_string()).collect()
    }

    #[test]
    fn named_object_is_found_whichever_side_is_first_and_every_change_is_reported() {
        let (mut table, me) = (table(), Key::new("ns", "me"));
        assert!(table.refer(&me, &[Reference::named("a")]).is_empty());
        assert_eq!(table.observe(None, Event::Apply(secret("ns", "a", "1", "x"))), std::slice::from_ref(&me));
        assert!(table.observe(None, Event::Apply(secret("other", "a", "1", "x"))).is_empty());
        assert!(table.observe(None, Event::Apply(secret("ns", "a", "2", "x"))).is_empty(), "only a label");
        assert_eq!(table.observe(None, Event::Apply(secret("ns", "a", "2", "y"))), std::slice::from_ref(&me));
        let elsewhere = Key::new("ns", "later");
        let views = table.refer(&elsewhere, &[Reference::named("a").in_namespace("other")]);
        assert_eq!(names(views), ["other/a"], "it was there before");
        assert_eq!(table.observe(None, Event::Delete(secret("other", "a", "1", "x"))), [elsewhere]);
        assert_eq!(
            table.observe(None, Event::Delete(secret("ns", "a", "2", "y"))),
            std::slice::from_ref(&me)
        );
        table.forget(&me);
        assert!(table.observe(None, Event::Apply(secret("ns", "a", "1", "x"))).is_empty());
        assert!(table.by_name.len() == 1 && table.by_selection.is_empty());
    }

    #[test]
    fn selected_objects_are_those_with_the_labels_or_the_owner_of_now() {
        let (mut table, me) = (table(), Key::new("ns", "me"));
        table.observe(None, Event::Apply(secret("ns", "a", "1", "x")));
        table.observe(None, Event::Apply(secret("ns", "b", "2", "x")));
        table.observe(None, Event::Apply(secret("other", "c", "1", "x")));
        assert_eq!(names(table.refer(&me, &[labelled("1")])), ["ns/a"]);
        assert_eq!(names(table.refer(&me, &[labelled("1").in_all_namespaces()])), ["ns/a", "other/c"]);
        assert_eq!(table.observe(None, Event::Apply(secret("ns", "b", "1", "x"))), std::slice::from_ref(&me));
        assert_eq!(table.observe(None, Event::Apply(secret("ns", "b", "2", "x"))), std::slice::from_ref(&me));
        assert!(table.observe(None, Event::Apply(secret("ns", "b", "2", "y"))).is_empty());
        assert_eq!(names(table.refer(&me, &[Reference::owned_by("of-b")])), ["ns/b"]);
        assert!(table.observe(None, Event::Delete(secret("ns", "a", "1", "x"))).is_empty());
        assert_eq!(
            table.observe(None, Event::Delete(secret("ns", "b", "2", "y"))),
            std::slice::from_ref(&me)
        );
        table.retain(|_| false);
        assert_eq!(table.sizes(), [1, 0]);
    }

    #[test]
    fn list_of_one_namespace_removes_only_what_was_there() {
        let (mut table, me) = (table(), Key::new("", "me"));
        table.observe(Some("a"), Event::Apply(secret("a", "x", "1", "x")));
        table.observe(Some("b"), Event::Apply(secret("b", "x", "1", "x")));
        assert_eq!(
            table.refer(&me, &[labelled("1")]).len(),
            2,
            "a cluster-scoped object refers to all namespaces"
        );
        table.observe(Some("a"), Event::Init);
        assert_eq!(table.observe(Some("a"), Event::InitDone), std::slice::from_ref(&me));
        assert_eq!(names(table.refer(&me, &[labelled("1")])), ["b/x"]);
    }

    #[test]
    fn cluster_scoped_objects_are_in_no_namespace() {
        let mut watches = Watches::<Cluster>::new();
        watches.referenced::<Namespace, Exists>(|_| Vec::new());
        let mut table = ReferenceTable::new(&watches.declared.references[0]);
        let namespace = json!({"metadata": {"name": "a"}});
        table.observe(None, Event::Apply(serde_json::from_value(namespace).unwrap()));
        assert_eq!(names(table.refer(&Key::new("ns", "me"), &[Reference::named("a")])), ["a"]);
        assert_eq!(table.refer(&Key::new("ns", "me"), &[Reference::labelled(Selector::default())]).len(), 1);
    }
}
