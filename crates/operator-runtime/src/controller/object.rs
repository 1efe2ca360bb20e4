//! What a custom resource has to implement to be reconciled, and its namespace and name.

use crate::conditions::Conditioned;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::object::{HasSpec, HasStatus};
use kube::runtime::reflector::{Lookup, ObjectRef};
use kube::{CustomResourceExt, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

/// Declares a trait that every type with these bounds implements: an alias of the bounds.
macro_rules! alias {
    ($(#[$doc:meta])* $name:ident = $($bounds:tt)+) => {
        $(#[$doc])*
        pub trait $name: $($bounds)+ {}

        impl<T> $name for T where T: $($bounds)+ {}
    };
}

alias! {
    /// What a spec has to implement: the derives of `#[derive(CustomResource)]`, and `Default`.
    Spec = Default + DeserializeOwned + Send + Sync
}
alias! {
    /// What a status has to implement: [`conditioned!`](crate::conditioned) and some derives.
    Status = Conditioned + Clone + Debug + Default + PartialEq + Serialize + DeserializeOwned + Send + Sync
}
alias! {
    /// A custom resource: what `#[derive(CustomResource)]` with a status and `derive = "Default"` gives.
    Object = Resource<DynamicType = ()>
        + CustomResourceExt
        + HasSpec<Spec: Spec>
        + HasStatus<Status: Status>
        + Clone
        + Debug
        + Default
        + Serialize
        + DeserializeOwned
        + Send
        + Sync
        + 'static
}

/// The spec of a custom resource.
pub type SpecOf<O> = <O as HasSpec>::Spec;
/// The status of a custom resource.
pub type StatusOf<O> = <O as HasStatus>::Status;

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
