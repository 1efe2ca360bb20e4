//! What a kind has to implement to be reconciled, and its namespace and name.

use super::watches::is_namespaced;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::runtime::reflector::{Lookup, ObjectRef};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

/// A kind whose objects can be reconciled: what `#[derive(CustomResource)]` gives, and every type of `k8s_openapi`.
pub trait Object:
    Resource<DynamicType = (), Scope: 'static>
    + Clone
    + Debug
    + Serialize
    + DeserializeOwned
    + Send
    + Sync
    + 'static
{
}

impl<T> Object for T where
    T: Resource<DynamicType = (), Scope: 'static>
        + Clone
        + Debug
        + Serialize
        + DeserializeOwned
        + Send
        + Sync
        + 'static
{
}

/// Namespace and name of an object; the namespace of a cluster-scoped one is empty.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl From<&ObjectMeta> for Key {
    fn from(metadata: &ObjectMeta) -> Self {
        Self {
            namespace: metadata.namespace.clone().unwrap_or_default(),
            name: metadata.name.clone().unwrap_or_default(),
        }
    }
}

impl Key {
    /// Returns the key of an object in a namespace; the namespace of a cluster-scoped one is empty.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    /// Returns the key of an object of this name in the namespace of another one.
    pub fn beside<O: Object>(object: &O, name: impl Into<String>) -> Self {
        let namespace = if is_namespaced::<O>() { object.meta().namespace.clone() } else { None };
        Self::new(namespace.unwrap_or_default(), name)
    }

    /// Returns the reference under which kube's stores keep the object.
    pub(crate) fn reference<O>(&self) -> ObjectRef<O>
    where
        O: Lookup,
        O::DynamicType: Default,
    {
        let reference = ObjectRef::new(&self.name);
        if self.namespace.is_empty() { reference } else { reference.within(&self.namespace) }
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.namespace.is_empty() {
            f.write_str(&self.name)
        } else {
            write!(f, "{}/{}", self.namespace, self.name)
        }
    }
}
