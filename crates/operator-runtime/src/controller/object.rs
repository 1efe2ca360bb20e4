//! What a custom resource has to implement to be reconciled.

use crate::conditions::Conditioned;
use kube::core::object::{HasSpec, HasStatus};
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
