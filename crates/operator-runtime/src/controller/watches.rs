//! Which kinds a controller watches besides its own: children, and objects that are related in another way.

use super::object::Key;
use super::view::{AnyView, ParseView, View};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::{ApiResource, ClusterResourceScope};
use std::any::TypeId;
use std::fmt;
use std::sync::Arc;

/// Returns the objects of the controller's own kind that a related object belongs to.
pub(crate) type Owners = Arc<dyn Fn(&ObjectMeta) -> Vec<Key> + Send + Sync>;

/// A kind of children.
#[derive(Clone, Debug)]
pub(crate) struct ChildKind {
    pub(crate) resource: ApiResource,
    pub(crate) namespaced: bool,
    pub(crate) parse: ParseView,
    pub(crate) view: TypeId,
    /// Children of this kind are deleted once they are no longer desired.
    pub(crate) optional: bool,
}

/// A kind of related objects.
#[derive(Clone)]
pub(crate) struct RelatedKind {
    pub(crate) resource: ApiResource,
    pub(crate) namespaced: bool,
    pub(crate) parse: ParseView,
    pub(crate) view: TypeId,
    /// Only objects with the operator's label are watched.
    pub(crate) managed: bool,
    pub(crate) owners: Owners,
}

impl fmt::Debug for RelatedKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RelatedKind")
            .field("resource", &self.resource)
            .field("managed", &self.managed)
            .finish_non_exhaustive()
    }
}

/// The kinds that a controller watches besides its own; filled by [`Reconciler::watches`](super::Reconciler::watches).
///
/// The permissions of the operator derive from it, too.
#[derive(Clone, Debug, Default)]
pub struct Watches {
    pub(crate) children: Vec<ChildKind>,
    pub(crate) related: Vec<RelatedKind>,
}

/// A kind of children that was just declared.
#[derive(Debug)]
pub struct ChildOptions<'a> {
    kind: &'a mut ChildKind,
}

impl ChildOptions<'_> {
    /// Has children of this kind deleted once `desired` no longer contains them.
    pub fn optional(self) {
        self.kind.optional = true;
    }
}

impl Watches {
    /// Declares a kind of children, and what is parsed of them: [`Exists`](super::Exists) for nothing.
    ///
    /// `desired` may only contain kinds that are declared. A child belongs to the object in its owner reference. An object
    /// that existed before and has neither this owner nor the operator's label is never changed: the condition `Degraded`
    /// shows that it is in the way. One with the label and without an owner was orphaned, and is adopted.
    ///
    /// A namespaced object owns children in its own namespace only; `desired` of a cluster-scoped one sets their namespaces.
    pub fn child<K, V>(&mut self) -> ChildOptions<'_>
    where
        K: Resource<DynamicType = (), Scope: 'static>,
        V: View,
    {
        let kind = ChildKind {
            resource: ApiResource::erase::<K>(&()),
            namespaced: is_namespaced::<K>(),
            parse: AnyView::parse::<V>,
            view: TypeId::of::<V>(),
            optional: false,
        };
        let index = if let Some(index) = self.child_index::<K>() {
            self.children[index] = kind;
            index
        } else {
            self.children.push(kind);
            self.children.len() - 1
        };
        ChildOptions { kind: &mut self.children[index] }
    }

    /// Declares a kind whose objects belong to the object that one of their labels names, in the same namespace.
    ///
    /// Only objects with the label `app.kubernetes.io/managed-by` of this operator are watched.
    pub fn by_label<K, V>(&mut self, label: &'static str)
    where
        K: Resource<DynamicType = (), Scope: 'static>,
        V: View,
    {
        self.watch::<K, V>(true, move |metadata| {
            let name =
                metadata.labels.as_ref().and_then(|labels| labels.get(label)).cloned().unwrap_or_default();
            vec![Key { namespace: metadata.namespace.clone().unwrap_or_default(), name }]
        });
    }

    /// Declares a kind whose objects are mapped to those that they belong to by a function of their metadata.
    ///
    /// All objects of the kind in the watched namespaces are watched; of a cluster-scoped kind, all in the cluster.
    pub fn mapped<K, V>(&mut self, owners: impl Fn(&ObjectMeta) -> Vec<Key> + Send + Sync + 'static)
    where
        K: Resource<DynamicType = (), Scope: 'static>,
        V: View,
    {
        self.watch::<K, V>(false, owners);
    }

    fn watch<K, V>(&mut self, managed: bool, owners: impl Fn(&ObjectMeta) -> Vec<Key> + Send + Sync + 'static)
    where
        K: Resource<DynamicType = (), Scope: 'static>,
        V: View,
    {
        self.related.push(RelatedKind {
            resource: ApiResource::erase::<K>(&()),
            namespaced: is_namespaced::<K>(),
            parse: AnyView::parse::<V>,
            view: TypeId::of::<V>(),
            managed,
            owners: Arc::new(owners),
        });
    }

    /// Returns the index of a declared kind of children.
    pub(crate) fn child_index<K: Resource<DynamicType = ()>>(&self) -> Option<usize> {
        self.children.iter().position(|kind| is::<K>(&kind.resource))
    }

    /// Returns the index of a kind of children, if it is declared with this view.
    pub(crate) fn child_view<K: Resource<DynamicType = ()>, V: View>(&self) -> Option<usize> {
        self.child_index::<K>().filter(|index| self.children[*index].view == TypeId::of::<V>())
    }

    /// Returns the index of a kind of related objects, if it is declared with this view.
    pub(crate) fn related_index<K: Resource<DynamicType = ()>, V: View>(&self) -> Option<usize> {
        let declared = |kind: &RelatedKind| is::<K>(&kind.resource) && kind.view == TypeId::of::<V>();
        self.related.iter().position(declared)
    }
}

fn is<K: Resource<DynamicType = ()>>(resource: &ApiResource) -> bool {
    resource.kind == K::kind(&()) && resource.group == K::group(&())
}

fn is_namespaced<K: Resource<DynamicType = (), Scope: 'static>>() -> bool {
    TypeId::of::<K::Scope>() != TypeId::of::<ClusterResourceScope>()
}
