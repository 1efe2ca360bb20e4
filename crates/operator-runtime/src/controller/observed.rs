//! The first step of a reconcile: everything that it decides on, read from what the watches cache. Makes no request.

use super::external::External;
use super::model::{ObservedChild, Views};
use super::object::{Key, Object};
use super::reconciler::Reconciler;
use super::stored::status_of;
use super::view::View;
use super::watches::{Child, Declared, Handle, References, Related};
use crate::conditions::{Draft, Status};
use crate::context::Platform;
use crate::problem::ReconcileProblem;
use crate::views::PodState;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What the caches hold of what concerns an object.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) key: Key,
    /// By kind, sorted by name.
    pub(crate) children: Vec<Vec<(Key, Arc<ObservedChild>)>>,
    pub(crate) related: Vec<Views>,
    pub(crate) references: Vec<Views>,
    pub(crate) declared: Arc<Declared>,
    /// A handle of another controller was used.
    foreign: Arc<AtomicBool>,
}

impl Snapshot {
    /// Returns a world in which nothing but the object exists.
    pub(crate) fn empty(key: Key, declared: &Arc<Declared>) -> Self {
        Self {
            key,
            children: vec![Vec::new(); declared.children.len()],
            related: vec![Views::new(); declared.related.len()],
            references: vec![Views::new(); declared.references.len()],
            declared: Arc::clone(declared),
            foreign: Arc::default(),
        }
    }

    /// Returns what is found at a handle; `None`, and a failure of the reconcile, if it is of another controller.
    fn at<'a, T>(&self, found: &'a [T], handle: Handle) -> Option<&'a T> {
        if handle.controller != self.declared.id {
            self.foreign.store(true, Ordering::Relaxed);
            return None;
        }
        found.get(handle.index)
    }

    /// Returns the children of a kind, by its index.
    pub(crate) fn children_of(&self, kind: usize) -> impl Iterator<Item = (&Key, &ObservedChild)> {
        self.children[kind].iter().map(|(key, seen)| (key, &**seen))
    }

    pub(crate) fn child<K, V: View>(&self, kind: Child<K, V>, name: &str) -> Option<&V> {
        let children = self.at(&self.children, kind.handle)?;
        let first = children.partition_point(|(key, _)| key.name.as_str() < name);
        let mut found = children[first..].iter().take_while(|(key, _)| key.name == name);
        found.find_map(|(_, seen)| seen.view.as_ref()?.get())
    }

    fn views<'a, V: View>(
        &self,
        views: &'a [Views],
        handle: Handle,
    ) -> impl Iterator<Item = (&'a Key, &'a V)> + use<'a, V> {
        let views = self.at(views, handle).into_iter().flatten();
        views.filter_map(|(key, view)| Some((key, view.get()?)))
    }
}

/// What was observed of an object by a reconciler.
pub type Observed<R> = ObservedState<<R as Reconciler>::Status, <R as Reconciler>::External>;

/// What was observed of an object with this status and external state: one reconcile's view of the world.
pub struct ObservedState<S, E> {
    pub(crate) snapshot: Snapshot,
    status: Option<S>,
    generation: Option<i64>,
    pub(crate) problem: Option<ReconcileProblem>,
    pub(crate) external: External<E>,
    platform: Platform,
    now: Timestamp,
}

impl<S: Status, E> Clone for ObservedState<S, E> {
    fn clone(&self) -> Self {
        Self {
            snapshot: self.snapshot.clone(),
            status: self.status.clone(),
            generation: self.generation,
            problem: self.problem.clone(),
            external: self.external.clone(),
            platform: self.platform,
            now: self.now,
        }
    }
}

impl<S, E> fmt::Debug for ObservedState<S, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observed").field("key", &self.snapshot.key).finish_non_exhaustive()
    }
}

impl<S: Status, E> ObservedState<S, E> {
    /// Returns what was observed of an object with this status.
    pub(crate) fn new(
        snapshot: Snapshot,
        status: Option<S>,
        generation: Option<i64>,
        platform: Platform,
    ) -> Self {
        Self {
            snapshot,
            status,
            generation,
            problem: None,
            external: External::none(),
            platform,
            now: Timestamp::now(),
        }
    }

    /// Returns the view of the child with this name; `None` if it does not exist or belongs to another object.
    ///
    /// If a cluster-scoped object has children of this name in several namespaces, it is the one in the first.
    #[must_use]
    pub fn child<K: Object, V: View>(&self, kind: Child<K, V>, name: &str) -> Option<&V> {
        self.snapshot.child(kind, name)
    }

    /// Returns the keys and views of all children of a kind, sorted by name.
    pub fn children<K: Object, V: View>(&self, kind: Child<K, V>) -> impl Iterator<Item = (&Key, &V)> {
        let found = self.snapshot.at(&self.snapshot.children, kind.handle).into_iter().flatten();
        found.filter_map(|(key, seen)| Some((key, seen.view.as_ref()?.get()?)))
    }

    /// Returns the keys and views of all related objects of a kind, sorted.
    pub fn related<K: Object, V: View>(&self, kind: Related<K, V>) -> impl Iterator<Item = (&Key, &V)> {
        self.snapshot.views(&self.snapshot.related, kind.handle)
    }

    /// Returns the names and states of all pods that live, sorted by name.
    pub fn pods(&self, pods: Related<Pod, PodState>) -> impl Iterator<Item = (&str, &PodState)> {
        self.related(pods).filter(|(_, pod)| pod.lives).map(|(key, pod)| (key.name.as_str(), pod))
    }

    /// Returns the keys and views of all objects of a kind that the object refers to and that exist, sorted.
    pub fn references<K: Object, V: View>(&self, kind: References<K, V>) -> impl Iterator<Item = (&Key, &V)> {
        self.snapshot.views(&self.snapshot.references, kind.handle)
    }

    /// Returns the view of the first object of a kind that the object refers to and that exists: of the only one, if it refers to
    /// one by name.
    #[must_use]
    pub fn reference<K: Object, V: View>(&self, kind: References<K, V>) -> Option<&V> {
        self.references(kind).next().map(|(_, view)| view)
    }

    /// Returns the view of an object that the object refers to; `None` if it does not exist, or nothing refers to it.
    #[must_use]
    pub fn reference_to<K: Object, V: View>(&self, kind: References<K, V>, key: &Key) -> Option<&V> {
        self.snapshot.at(&self.snapshot.references, kind.handle)?.get(key)?.get()
    }

    /// Whether a handle of another controller was used: what the reconciler returned is then based on nothing.
    pub(crate) fn used_foreign_handle(&self) -> bool {
        self.snapshot.foreign.load(Ordering::Relaxed)
    }

    /// Returns what prevents the object from reaching its desired state: an invalid spec, or what failed in this reconcile.
    #[must_use]
    pub fn problem(&self) -> Option<&ReconcileProblem> {
        self.problem.as_ref()
    }

    /// Returns what [`Reconciler::reconcile_external`] found.
    #[must_use]
    pub fn external(&self) -> Option<&E> {
        self.external.value.as_deref()
    }

    /// Returns the status as it was written last; `None` if there is none.
    #[must_use]
    pub fn status(&self) -> Option<&S> {
        self.status.as_ref()
    }

    /// Returns what is known of the cluster that the operator runs on.
    #[must_use]
    pub fn platform(&self) -> Platform {
        self.platform
    }

    /// Returns namespace and name of the object.
    #[must_use]
    pub fn key(&self) -> &Key {
        &self.snapshot.key
    }

    /// Returns the time of the reconcile.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Returns a draft of the object's next status: the previous one, with conditions that keep their transition times.
    #[must_use]
    pub fn draft(&self) -> Draft<S> {
        Draft::new(self.status.clone().unwrap_or_default(), self.generation, self.now)
    }
}

/// Builders of what was observed, for tests of pure functions.
#[cfg(any(test, feature = "testing"))]
#[allow(clippy::expect_used)]
impl<S: Status, E> ObservedState<S, E> {
    /// Returns this with a child of a kind.
    ///
    /// # Panics
    /// If the child does not have the form of the view.
    #[must_use]
    pub fn with_child<K: Object, V: View>(
        mut self,
        kind: Child<K, V>,
        name: &str,
        child: &serde_json::Value,
    ) -> Self {
        assert_eq!(kind.handle.controller, self.snapshot.declared.id, "the handle is of this controller");
        let view = super::view::AnyView::parse::<V>(&child.to_string()).expect("the child has this form");
        let namespace = child["metadata"]["namespace"].as_str();
        let key = Key::new(namespace.unwrap_or(&self.snapshot.key.namespace), name);
        let seen = ObservedChild {
            uid: name.to_owned(),
            owner: None,
            digest: 0,
            deleting: None,
            unwatched: false,
            view: Some(view),
        };
        let children = &mut self.snapshot.children[kind.handle.index];
        children.retain(|(known, _)| *known != key);
        let position = children.partition_point(|(known, _)| known.name.as_str() < name);
        children.insert(position, (key, Arc::new(seen)));
        self
    }

    /// Returns this with a related object of a kind.
    ///
    /// # Panics
    /// If the object does not have the form of the view.
    #[must_use]
    pub fn with_related<K: Object, V: View>(
        mut self,
        kind: Related<K, V>,
        name: &str,
        object: &serde_json::Value,
    ) -> Self {
        assert_eq!(kind.handle.controller, self.snapshot.declared.id, "the handle is of this controller");
        let view = super::view::AnyView::parse::<V>(&object.to_string()).expect("the object has this form");
        let key = Key::new(&self.snapshot.key.namespace, name);
        self.snapshot.related[kind.handle.index].insert(key, view);
        self
    }

    /// Returns this with an object that the object refers to, in the namespace of its metadata or of the object that refers.
    ///
    /// # Panics
    /// If the object does not have the form of the view.
    #[must_use]
    pub fn with_reference<K: Object, V: View>(
        mut self,
        kind: References<K, V>,
        name: &str,
        object: &serde_json::Value,
    ) -> Self {
        assert_eq!(kind.handle.controller, self.snapshot.declared.id, "the handle is of this controller");
        let view = super::view::AnyView::parse::<V>(&object.to_string()).expect("the object has this form");
        let namespace = if super::watches::is_namespaced::<K>() {
            object["metadata"]["namespace"].as_str().unwrap_or(&self.snapshot.key.namespace)
        } else {
            ""
        };
        let key = Key::new(namespace, name);
        self.snapshot.references[kind.handle.index].insert(key, view);
        self
    }

    /// Returns this with what was found outside of the API server.
    #[must_use]
    pub fn with_external(mut self, value: E) -> Self {
        self.external = External::new(value);
        self
    }

    /// Returns this with a problem.
    #[must_use]
    pub fn with_problem(mut self, problem: ReconcileProblem) -> Self {
        self.problem = Some(problem);
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

impl<S: Status, E> ObservedState<S, E> {
    /// Returns what was observed of a valid object.
    pub(crate) fn from_snapshot<O: Object>(snapshot: Snapshot, object: &O, platform: Platform) -> Self {
        let generation = object.meta().generation;
        Self::new(snapshot, status_of(object), generation, platform)
    }
}
