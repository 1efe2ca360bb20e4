//! The first step of a reconcile: everything that it decides on, read from what the watches cache. Makes no request.

use super::cache::{Cache, OwnerKind, Seen};
use super::children::Outlines;
use super::error::Error;
use super::external::External;
use super::key::Key;
use super::live::Live;
use super::object::{Object, StatusOf};
use super::owns::Owns;
use super::related::{Related, Views};
use super::view::View;
use super::written::Written;
use crate::conditions::{Conditioned, Draft};
use crate::context::Platform;
use crate::problem::Problem;
use crate::views::PodState;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::Resource;
use kube::runtime::reflector::Store;
use std::any::type_name;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// What the watches of one namespace (or of all) cache.
pub(crate) struct Caches<O: Object> {
    pub(crate) store: Store<O>,
    pub(crate) written: Written<O>,
    pub(crate) malformed: Malformed,
    pub(crate) children: Vec<Cache>,
    pub(crate) related: Vec<Related>,
    owns: Arc<Owns>,
    platform: Platform,
}

impl<O: Object> Caches<O> {
    pub(crate) fn new(
        store: Store<O>,
        owns: &Arc<Owns>,
        owner: &OwnerKind,
        outlines: &Outlines,
        platform: Platform,
    ) -> Self {
        let children = owns.children.iter().zip(outlines);
        let cache = |(kind, outline): (&super::owns::ChildKind, &Option<_>)| {
            Cache::new(&kind.resource.kind, owner.clone(), outline.clone(), kind.parse)
        };
        Self {
            store,
            written: Written::default(),
            malformed: Malformed::default(),
            children: children.map(cache).collect(),
            related: owns.related.iter().map(Related::new).collect(),
            owns: Arc::clone(owns),
            platform,
        }
    }

    /// Whether the watch knows an object.
    pub(crate) fn exists(&self, key: &Key) -> bool {
        self.store.get(&key.reference()).is_some()
    }

    /// Records the response to an own write, for reconciles that run before the watch reports it.
    pub(crate) fn remember(&self, response: Live) -> Arc<O> {
        let object = Arc::new(self.malformed.parse(response));
        self.written.put(Arc::clone(&object));
        object
    }

    /// Forgets an object that no longer exists.
    pub(crate) fn forget(&self, key: &Key) {
        self.written.forget(key);
        self.malformed.forget(key);
    }

    /// Forgets every object that the watch has just not listed.
    pub(crate) fn listed(&self) {
        self.written.listed(|key| self.exists(key));
        self.malformed.errors().retain(|key, _| self.exists(key));
        for cache in &self.children {
            cache.retain_waiting(|key| self.exists(key));
        }
    }

    /// Returns the newest state of an object that is known.
    pub(crate) fn newest(&self, stored: &Arc<O>) -> Arc<O> {
        self.written.newest(&Key::of(stored.meta()), stored)
    }

    /// Returns what was observed of an object.
    pub(crate) fn observe(&self, object: &O) -> Observed {
        let key = Key::of(object.meta());
        let uid = object.meta().uid.as_deref().unwrap_or_default();
        Observed {
            children: self.children.iter().map(|cache| cache.of(&key, uid)).collect(),
            related: self.related.iter().map(|related| related.of(&key)).collect(),
            malformed: self.malformed.errors().get(&key).cloned(),
            ..Observed::nothing(key, &self.owns, self.platform)
        }
    }

    /// Returns how many things are kept, by what they are.
    pub(crate) fn sizes(&self) -> Vec<(&'static str, usize)> {
        let children = self.children.iter().flat_map(Cache::sizes).sum();
        let related = self.related.iter().flat_map(Related::sizes).sum();
        vec![
            ("objects", self.store.state().len()),
            ("responses", self.written.size()),
            ("malformed", self.malformed.errors().len()),
            ("children", children),
            ("related", related),
        ]
    }
}

/// What was observed of an object: one reconcile's view of the world.
#[derive(Clone, Debug)]
pub struct Observed {
    key: Key,
    /// By kind, sorted by name.
    children: Vec<Vec<(Key, Arc<Seen>)>>,
    related: Vec<Views>,
    pub(crate) malformed: Option<String>,
    pub(crate) problem: Option<Problem>,
    pub(crate) external: External,
    platform: Platform,
    now: Timestamp,
    owns: Arc<Owns>,
    /// The first kind and view that were asked for and are not declared.
    undeclared: Arc<OnceLock<(String, &'static str)>>,
}

impl Observed {
    /// Returns the view of a world in which nothing but the object exists.
    pub(crate) fn nothing(key: Key, owns: &Arc<Owns>, platform: Platform) -> Self {
        Self {
            key,
            children: vec![Vec::new(); owns.children.len()],
            related: vec![Views::new(); owns.related.len()],
            malformed: None,
            problem: None,
            external: External::none(),
            platform,
            now: Timestamp::now(),
            owns: Arc::clone(owns),
            undeclared: Arc::default(),
        }
    }

    /// Returns the view of the child with this name; `None` if it does not exist or belongs to another object.
    ///
    /// The reconcile fails if `owns` does not declare the kind with this view.
    #[must_use]
    pub fn child<K: Resource<DynamicType = ()>, V: View>(&self, name: &str) -> Option<&V> {
        let index = self.declared::<K, V>(self.owns.child_view::<K, V>());
        let children = index.and_then(|index| self.children.get(index))?;
        let first = children.partition_point(|(key, _)| key.name.as_str() < name);
        let mut found = children[first..].iter().take_while(|(key, _)| key.name == name);
        found.find_map(|(_, seen)| seen.view.as_ref()?.get())
    }

    /// Returns the names and views of all children of a kind, sorted by name.
    ///
    /// The reconcile fails if `owns` does not declare the kind with this view.
    pub fn children<K: Resource<DynamicType = ()>, V: View>(&self) -> impl Iterator<Item = (&str, &V)> {
        let index = self.declared::<K, V>(self.owns.child_view::<K, V>());
        let found = index.and_then(|index| self.children.get(index)).into_iter().flatten();
        found.filter_map(|(key, seen)| Some((key.name.as_str(), seen.view.as_ref()?.get()?)))
    }

    /// Records that a kind or a view is used that is not declared.
    fn declared<K: Resource<DynamicType = ()>, V: View>(&self, index: Option<usize>) -> Option<usize> {
        if index.is_none() {
            self.undeclared.get_or_init(|| (K::kind(&()).into_owned(), type_name::<V>()));
        }
        index
    }

    /// Fails if a kind or a view was used that is not declared: what the reconciler returned is then based on nothing.
    pub(crate) fn check_views(&self) -> Result<(), Error> {
        match self.undeclared.get() {
            Some((kind, view)) => Err(Error::UndeclaredView { kind: kind.clone(), view }),
            None => Ok(()),
        }
    }

    /// Returns the names and views of all related objects of a kind, sorted by name.
    ///
    /// The reconcile fails if `owns` does not declare the kind with this view.
    pub fn related<K: Resource<DynamicType = ()>, V: View>(&self) -> impl Iterator<Item = (&str, &V)> {
        let index = self.declared::<K, V>(self.owns.related_index::<K, V>());
        let found = index.and_then(|index| self.related.get(index)).into_iter().flatten();
        found.filter_map(|(key, view)| Some((key.name.as_str(), view.get()?)))
    }

    /// Returns the names and states of all pods that live, sorted by name; none if `owns` does not declare them with
    /// `owns.related::<Pod, PodState>(labels::INSTANCE)`.
    pub fn pods(&self) -> impl Iterator<Item = (&str, &PodState)> {
        let index = self.owns.related_index::<Pod, PodState>();
        let found = index.and_then(|index| self.related.get(index)).into_iter().flatten();
        let pods = found.filter_map(|(key, view)| Some((key.name.as_str(), view.get::<PodState>()?)));
        pods.filter(|(_, pod)| pod.lives)
    }

    /// Returns what prevents the object from reaching its desired state: an invalid spec, or what failed in this reconcile.
    #[must_use]
    pub fn problem(&self) -> Option<&Problem> {
        self.problem.as_ref()
    }

    /// Whether the spec could not be parsed; the object's spec is then the default one.
    #[must_use]
    pub fn is_malformed(&self) -> bool {
        self.malformed.is_some()
    }

    /// Returns what [`Reconciler::prepare`](super::Reconciler::prepare) found, if it is of this type.
    #[must_use]
    pub fn external<T: 'static>(&self) -> Option<&T> {
        self.external.get()
    }

    /// Returns what is known of the cluster that the operator runs on.
    #[must_use]
    pub fn platform(&self) -> Platform {
        self.platform
    }

    /// Returns namespace and name of the object.
    #[must_use]
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// Returns the time of the reconcile.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Returns a draft of an object's next status: the previous one, with conditions that keep their transition times.
    #[must_use]
    pub fn draft<O: Object>(&self, object: &O) -> Draft<StatusOf<O>>
    where
        StatusOf<O>: Conditioned,
    {
        Draft::new(object.status().cloned().unwrap_or_default(), object.meta().generation, self.now)
    }

    /// Returns the children of a kind, by its index.
    pub(crate) fn children_of(&self, kind: usize) -> impl Iterator<Item = (&Key, &Seen)> {
        self.children[kind].iter().map(|(key, seen)| (key, &**seen))
    }
}

/// Builders of what was observed, for tests of pure functions.
#[cfg(any(test, feature = "testing"))]
#[allow(clippy::expect_used)]
impl Observed {
    /// Returns this with a child of a kind.
    ///
    /// # Panics
    /// If `owns` does not declare the kind with this view, or the child does not have the form of the view.
    #[must_use]
    pub fn with_child<K: Resource<DynamicType = ()>, V: View>(
        mut self,
        name: &str,
        child: &serde_json::Value,
    ) -> Self {
        let index = self.owns.child_view::<K, V>().expect("`owns` declares the kind with this view");
        let view = super::view::AnyView::parse::<V>(&child.to_string()).expect("the child has this form");
        let key = Key { namespace: self.key.namespace.clone(), name: name.to_owned() };
        let seen = Seen { uid: name.to_owned(), owner: None, digest: 0, deleting: false, view: Some(view) };
        let children = &mut self.children[index];
        children.retain(|(known, _)| *known != key);
        let position = children.partition_point(|(known, _)| known.name.as_str() < name);
        children.insert(position, (key, Arc::new(seen)));
        self
    }

    /// Returns this with a related object of a kind.
    ///
    /// # Panics
    /// If `owns` does not declare the kind with this view, or the object does not have the form of the view.
    #[must_use]
    pub fn with_related<K: Resource<DynamicType = ()>, V: View>(
        mut self,
        name: &str,
        object: &serde_json::Value,
    ) -> Self {
        let index = self.owns.related_index::<K, V>().expect("`owns` declares the kind with this view");
        let view = super::view::AnyView::parse::<V>(&object.to_string()).expect("the object has this form");
        let key = Key { namespace: self.key.namespace.clone(), name: name.to_owned() };
        self.related[index].insert(key, view);
        self
    }

    /// Returns this with a problem.
    #[must_use]
    pub fn with_problem(mut self, problem: Problem) -> Self {
        self.problem = Some(problem);
        self
    }

    /// Returns this with a spec that could not be parsed, for this reason.
    #[must_use]
    pub fn with_malformed(mut self, reason: &str) -> Self {
        self.malformed = Some(reason.to_owned());
        self.problem = Some(Problem::invalid(format!("spec: {reason}")));
        self
    }

    /// Returns this at another time.
    #[must_use]
    pub fn at(mut self, now: Timestamp) -> Self {
        self.now = now;
        self
    }

    /// Returns this on another platform.
    #[must_use]
    pub fn on(mut self, platform: Platform) -> Self {
        self.platform = platform;
        self
    }
}

/// Objects whose spec could not be parsed, with the reason.
#[derive(Default)]
pub(crate) struct Malformed {
    errors: Mutex<HashMap<Key, String>>,
}

impl Malformed {
    pub(crate) fn errors(&self) -> MutexGuard<'_, HashMap<Key, String>> {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the object, and records whether its spec could be parsed.
    pub(crate) fn parse<O: Object>(&self, live: Live) -> O {
        let (object, error) = live.parse::<O>();
        let key = Key::of(object.meta());
        let mut errors = self.errors();
        if let Some(error) = error {
            if errors.get(&key) != Some(&error) {
                tracing::warn!(object = %key, error, "failed to parse the spec");
            }
            errors.insert(key, error);
        } else if !errors.is_empty() {
            errors.remove(&key);
        }
        object
    }

    fn forget(&self, key: &Key) {
        self.errors().remove(key);
    }
}
