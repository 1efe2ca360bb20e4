//! Which kinds a controller watches besides its own, and the handles by which a reconciler reads them.

use super::object::{Key, Object};
use super::references::Reference;
use super::store::Objects;
use super::view::{AnyView, Exists, ParseView, View};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::{ApiResource, ClusterResourceScope};
use std::any::TypeId;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Returns the objects of the controller's own kind that a related object belongs to.
pub(crate) type Owners = Arc<dyn Fn(&ObjectMeta) -> Vec<Key> + Send + Sync>;
/// Returns what an object refers to.
pub(crate) type Refers<O> = Arc<dyn Fn(&O) -> Vec<Reference> + Send + Sync>;

/// A kind of children.
#[derive(Clone, Debug)]
pub(crate) struct ChildKind {
    pub(crate) resource: ApiResource,
    pub(crate) namespaced: bool,
    pub(crate) parse: ParseView,
    pub(crate) options: ChildOptions,
}

/// A kind of related objects.
#[derive(Clone)]
pub(crate) struct RelatedKind {
    pub(crate) resource: ApiResource,
    pub(crate) namespaced: bool,
    pub(crate) parse: ParseView,
    /// Only objects with the operator's label are watched.
    pub(crate) managed: bool,
    pub(crate) owners: Owners,
}

/// A kind of referenced objects.
#[derive(Clone, Debug)]
pub(crate) struct ReferenceKind {
    pub(crate) resource: ApiResource,
    pub(crate) namespaced: bool,
    pub(crate) parse: ParseView,
}

impl fmt::Debug for RelatedKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RelatedKind")
            .field("resource", &self.resource)
            .field("managed", &self.managed)
            .finish_non_exhaustive()
    }
}

/// What a controller declared, whatever the type of its objects.
#[derive(Debug, Default)]
pub(crate) struct Declared {
    /// Which of all controllers of the program it is.
    pub(crate) id: u64,
    pub(crate) children: Vec<ChildKind>,
    pub(crate) related: Vec<RelatedKind>,
    pub(crate) references: Vec<ReferenceKind>,
    /// Labels or annotations of the objects themselves are written.
    pub(crate) own_metadata: bool,
}

/// A declared kind, of the controller with this id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handle {
    pub(crate) controller: u64,
    pub(crate) index: usize,
}

/// Declares a handle.
macro_rules! handle {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        pub struct $name<K, V = Exists> {
            pub(crate) handle: Handle,
            types: PhantomData<fn() -> (K, V)>,
        }

        impl<K, V> $name<K, V> {
            fn new(controller: u64, index: usize) -> Self {
                Self { handle: Handle { controller, index }, types: PhantomData }
            }
        }

        impl<K, V> Clone for $name<K, V> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<K, V> Copy for $name<K, V> {}

        impl<K, V> fmt::Debug for $name<K, V> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($name)).field(&self.handle.index).finish()
            }
        }
    };
}

handle! {
    /// A kind of children, and what is read of them: by default [`Exists`], nothing.
    Child
}
handle! {
    /// A kind of objects that belong to an object without being its children, and what is read of them.
    Related
}
handle! {
    /// A kind of objects that an object refers to, and what is read of them.
    References
}

/// The permission to write labels and annotations of the objects that are reconciled.
#[derive(Clone, Copy, Debug)]
pub struct OwnMetadata {
    pub(crate) controller: u64,
}

/// What to do if the API server rejects a child because of a field that cannot be changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImmutableFields {
    /// Show it as a condition; the child stays as it is.
    #[default]
    Refuse,
    /// Delete the child without what it owns, and create it again: a `StatefulSet` then adopts its pods, and a `Job`'s are run
    /// again.
    Recreate,
    /// Enlarge the claims of a `StatefulSet` if `volumeClaimTemplates` ask for more, then do as [`ImmutableFields::Recreate`] does.
    ///
    /// A smaller size is refused, and so is a larger one if the storage class does not allow it.
    ExpandClaims,
}

/// Options of a kind of children; see [`Watches::child_with`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChildOptions {
    pub(crate) optional: bool,
    pub(crate) immutable: ImmutableFields,
}

impl ChildOptions {
    /// Returns the options that [`Watches::child`] uses.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Has children deleted once `desired` no longer contains them.
    #[must_use]
    pub fn optional(self) -> Self {
        Self { optional: true, ..self }
    }

    /// Chooses what happens if a field cannot be changed.
    #[must_use]
    pub fn immutable_fields(self, immutable: ImmutableFields) -> Self {
        Self { immutable, ..self }
    }
}

/// Declares the kinds that a controller watches besides its own; given to what
/// [`Operator::controller`](crate::Operator::controller) builds the reconciler with.
///
/// Each declaration returns a handle, by which [`Observed`](super::Observed), [`Children`](super::Children) and
/// [`Changes`](super::Changes) know the kind: what is not declared cannot be named. The permissions of the operator derive from
/// the declarations, too.
///
/// ```
/// # use k8s_openapi::api::apps::v1::Deployment;
/// # use k8s_openapi::api::core::v1::{Secret, Service};
/// # use operator_runtime::controller::{Child, Key, Reference, References, Watches};
/// # use operator_runtime::views::{Rollout, SecretData};
/// struct Apps {
///     deployment: Child<Deployment, Rollout>,
///     service: Child<Service>,
///     credentials: References<Secret, SecretData>,
/// }
///
/// impl Apps {
///     fn new(watches: &mut Watches<App>) -> Self {
///         Self {
///             deployment: watches.child(),
///             service: watches.child(),
///             credentials: watches.referenced(|app| vec![Reference::named(&app.spec.credentials)]),
///         }
///     }
/// }
/// # #[derive(kube::CustomResource, schemars::JsonSchema, Clone, Debug, serde::Deserialize, serde::Serialize)]
/// # #[kube(group = "example.com", version = "v1", kind = "App", namespaced)]
/// # struct AppSpec { credentials: String }
/// ```
pub struct Watches<O: Object> {
    pub(crate) declared: Declared,
    /// As many as [`Declared::references`].
    pub(crate) refers: Vec<Refers<O>>,
    pub(crate) objects: Objects<O>,
}

impl<O: Object> fmt::Debug for Watches<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watches").field("declared", &self.declared).finish_non_exhaustive()
    }
}

impl<O: Object> Watches<O> {
    pub(crate) fn new() -> Self {
        static IDS: AtomicU64 = AtomicU64::new(1);
        let declared = Declared { id: IDS.fetch_add(1, Ordering::Relaxed), ..Declared::default() };
        Self { declared, refers: Vec::new(), objects: Objects::default() }
    }

    /// Declares a kind of children, and what is read of them: [`Exists`] for nothing.
    ///
    /// A child belongs to the object in its owner reference. An object that existed before and has neither this owner nor the
    /// operator's label is never changed: the condition `Degraded` shows that it is in the way. One with the label and without
    /// an owner was orphaned, and is adopted.
    ///
    /// A namespaced object owns children in its own namespace only; `desired` of a cluster-scoped one sets their namespaces.
    pub fn child<K: Object, V: View>(&mut self) -> Child<K, V> {
        self.child_with(ChildOptions::default())
    }

    /// Declares a kind of children with options: that they are deleted once they are not desired, or what to do about fields that
    /// cannot be changed.
    pub fn child_with<K: Object, V: View>(&mut self, options: ChildOptions) -> Child<K, V> {
        self.declared.children.push(ChildKind {
            resource: ApiResource::erase::<K>(&()),
            namespaced: is_namespaced::<K>(),
            parse: AnyView::parse::<V>,
            options,
        });
        Child::new(self.declared.id, self.declared.children.len() - 1)
    }

    /// Declares a kind of which objects refer to some, in any watched namespace: by name, by labels, or by owner.
    ///
    /// Whatever changes on either side, the objects concerned are reconciled: when an object refers to something else, when what
    /// it refers to is created, changes its view or its labels, or is deleted. All objects of the kind in the watched
    /// namespaces are watched, and their views are kept; of a cluster-scoped kind, all in the cluster. A reference to a namespace
    /// that is not watched shows as the problem `NamespaceNotWatched`.
    ///
    /// `refers` is called at the beginning of each reconcile. It may also refer to objects of the controller's own kind, or of
    /// another one of this operator.
    pub fn referenced<K: Object, V: View>(
        &mut self,
        refers: impl Fn(&O) -> Vec<Reference> + Send + Sync + 'static,
    ) -> References<K, V> {
        self.declared.references.push(ReferenceKind {
            resource: ApiResource::erase::<K>(&()),
            namespaced: is_namespaced::<K>(),
            parse: AnyView::parse::<V>,
        });
        self.refers.push(Arc::new(refers));
        References::new(self.declared.id, self.declared.references.len() - 1)
    }

    /// Declares a kind whose objects belong to the object that one of their labels names, in the same namespace.
    ///
    /// Only objects with the label `app.kubernetes.io/managed-by` of this operator are watched.
    pub fn by_label<K: Object, V: View>(&mut self, label: &'static str) -> Related<K, V> {
        self.related(true, move |metadata| {
            let name =
                metadata.labels.as_ref().and_then(|labels| labels.get(label)).cloned().unwrap_or_default();
            vec![Key { namespace: metadata.namespace.clone().unwrap_or_default(), name }]
        })
    }

    /// Declares a kind whose objects are mapped to those that they belong to by a function of their metadata.
    ///
    /// All objects of the kind in the watched namespaces are watched; of a cluster-scoped kind, all in the cluster. Where the
    /// objects of the controller know to what they refer, use [`Watches::referenced`].
    pub fn mapped<K: Object, V: View>(
        &mut self,
        owners: impl Fn(&ObjectMeta) -> Vec<Key> + Send + Sync + 'static,
    ) -> Related<K, V> {
        self.related(false, owners)
    }

    /// Declares that `desired` sets labels or annotations of the objects themselves: see
    /// [`Children::set_label`](super::Children::set_label).
    pub fn own_metadata(&mut self) -> OwnMetadata {
        self.declared.own_metadata = true;
        OwnMetadata { controller: self.declared.id }
    }

    /// Returns the objects of the controller as its cache holds them, and its queue: for tasks, webhooks and other controllers of
    /// the same program.
    #[must_use]
    pub fn objects(&self) -> Objects<O> {
        self.objects.clone()
    }

    fn related<K: Object, V: View>(
        &mut self,
        managed: bool,
        owners: impl Fn(&ObjectMeta) -> Vec<Key> + Send + Sync + 'static,
    ) -> Related<K, V> {
        self.declared.related.push(RelatedKind {
            resource: ApiResource::erase::<K>(&()),
            namespaced: is_namespaced::<K>(),
            parse: AnyView::parse::<V>,
            managed,
            owners: Arc::new(owners),
        });
        Related::new(self.declared.id, self.declared.related.len() - 1)
    }
}

/// Whether objects of a kind are in namespaces.
pub(crate) fn is_namespaced<K: Resource<Scope: 'static>>() -> bool {
    TypeId::of::<K::Scope>() != TypeId::of::<ClusterResourceScope>()
}
