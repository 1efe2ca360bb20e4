//! The first step of a reconcile: everything that it decides on, read from what the watches cache. Makes no request.

use super::error::ReconcileError;
use super::external::External;
use super::model::{ObservedChild, Views};
use super::object::{Key, Object, StatusOf};
use super::view::View;
use super::watches::Watches;
use crate::conditions::{Conditioned, Draft};
use crate::context::Platform;
use crate::problem::ReconcileProblem;
use crate::views::PodState;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::Resource;
use std::any::type_name;
use std::sync::{Arc, OnceLock};

/// What was observed of an object: one reconcile's view of the world.
#[derive(Clone, Debug)]
pub struct Observed {
    key: Key,
    /// By kind, sorted by name.
    pub(crate) children: Vec<Vec<(Key, Arc<ObservedChild>)>>,
    pub(crate) related: Vec<Views>,
    pub(crate) malformed: Option<String>,
    pub(crate) problem: Option<ReconcileProblem>,
    pub(crate) external: External,
    platform: Platform,
    now: Timestamp,
    watches: Arc<Watches>,
    /// The first kind and view that were asked for and are not declared.
    undeclared: Arc<OnceLock<(String, &'static str)>>,
}

impl Observed {
    /// Returns the view of a world in which nothing but the object exists.
    pub(crate) fn empty(key: Key, watches: &Arc<Watches>, platform: Platform) -> Self {
        Self {
            key,
            children: vec![Vec::new(); watches.children.len()],
            related: vec![Views::new(); watches.related.len()],
            malformed: None,
            problem: None,
            external: External::none(),
            platform,
            now: Timestamp::now(),
            watches: Arc::clone(watches),
            undeclared: Arc::default(),
        }
    }

    /// Returns the view of the child with this name; `None` if it does not exist or belongs to another object.
    ///
    /// The reconcile fails if `watches` does not declare the kind with this view.
    #[must_use]
    pub fn child<K: Resource<DynamicType = ()>, V: View>(&self, name: &str) -> Option<&V> {
        let index = self.declared::<K, V>(self.watches.child_view::<K, V>());
        let children = index.and_then(|index| self.children.get(index))?;
        let first = children.partition_point(|(key, _)| key.name.as_str() < name);
        let mut found = children[first..].iter().take_while(|(key, _)| key.name == name);
        found.find_map(|(_, seen)| seen.view.as_ref()?.get())
    }

    /// Returns the names and views of all children of a kind, sorted by name.
    ///
    /// The reconcile fails if `watches` does not declare the kind with this view.
    pub fn children<K: Resource<DynamicType = ()>, V: View>(&self) -> impl Iterator<Item = (&str, &V)> {
        let index = self.declared::<K, V>(self.watches.child_view::<K, V>());
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
    pub(crate) fn check_views(&self) -> Result<(), ReconcileError> {
        match self.undeclared.get() {
            Some((kind, view)) => Err(ReconcileError::UndeclaredView { kind: kind.clone(), view }),
            None => Ok(()),
        }
    }

    /// Returns the names and views of all related objects of a kind, sorted by name.
    ///
    /// The reconcile fails if `watches` does not declare the kind with this view.
    pub fn related<K: Resource<DynamicType = ()>, V: View>(&self) -> impl Iterator<Item = (&str, &V)> {
        let index = self.declared::<K, V>(self.watches.related_index::<K, V>());
        let found = index.and_then(|index| self.related.get(index)).into_iter().flatten();
        found.filter_map(|(key, view)| Some((key.name.as_str(), view.get()?)))
    }

    /// Returns the names and states of all pods that live, sorted by name; none if `watches` does not declare them with
    /// `watches.by_label::<Pod, PodState>(labels::INSTANCE)`.
    pub fn pods(&self) -> impl Iterator<Item = (&str, &PodState)> {
        let index = self.watches.related_index::<Pod, PodState>();
        let found = index.and_then(|index| self.related.get(index)).into_iter().flatten();
        let pods = found.filter_map(|(key, view)| Some((key.name.as_str(), view.get::<PodState>()?)));
        pods.filter(|(_, pod)| pod.lives)
    }

    /// Returns what prevents the object from reaching its desired state: an invalid spec, or what failed in this reconcile.
    #[must_use]
    pub fn problem(&self) -> Option<&ReconcileProblem> {
        self.problem.as_ref()
    }

    /// Whether the spec could not be parsed; the object's spec is then the default one.
    #[must_use]
    pub fn is_malformed(&self) -> bool {
        self.malformed.is_some()
    }

    /// Returns what [`Reconciler::reconcile_external`](super::Reconciler::reconcile_external) found, if it is of this type.
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
    pub(crate) fn children_of(&self, kind: usize) -> impl Iterator<Item = (&Key, &ObservedChild)> {
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
    /// If `watches` does not declare the kind with this view, or the child does not have the form of the view.
    #[must_use]
    pub fn with_child<K: Resource<DynamicType = ()>, V: View>(
        mut self,
        name: &str,
        child: &serde_json::Value,
    ) -> Self {
        let index = self.watches.child_view::<K, V>().expect("`watches` declares the kind with this view");
        let view = super::view::AnyView::parse::<V>(&child.to_string()).expect("the child has this form");
        let key = Key { namespace: self.key.namespace.clone(), name: name.to_owned() };
        let seen =
            ObservedChild { uid: name.to_owned(), owner: None, digest: 0, deleting: false, view: Some(view) };
        let children = &mut self.children[index];
        children.retain(|(known, _)| *known != key);
        let position = children.partition_point(|(known, _)| known.name.as_str() < name);
        children.insert(position, (key, Arc::new(seen)));
        self
    }

    /// Returns this with a related object of a kind.
    ///
    /// # Panics
    /// If `watches` does not declare the kind with this view, or the object does not have the form of the view.
    #[must_use]
    pub fn with_related<K: Resource<DynamicType = ()>, V: View>(
        mut self,
        name: &str,
        object: &serde_json::Value,
    ) -> Self {
        let index = self.watches.related_index::<K, V>().expect("`watches` declares the kind with this view");
        let view = super::view::AnyView::parse::<V>(&object.to_string()).expect("the object has this form");
        let key = Key { namespace: self.key.namespace.clone(), name: name.to_owned() };
        self.related[index].insert(key, view);
        self
    }

    /// Returns this with a problem.
    #[must_use]
    pub fn with_problem(mut self, problem: ReconcileProblem) -> Self {
        self.problem = Some(problem);
        self
    }

    /// Returns this with a spec that could not be parsed, for this reason.
    #[must_use]
    pub fn with_malformed(mut self, reason: &str) -> Self {
        self.malformed = Some(reason.to_owned());
        self.problem = Some(ReconcileProblem::invalid(format!("spec: {reason}")));
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
