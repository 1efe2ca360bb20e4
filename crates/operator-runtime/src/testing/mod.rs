//! Tests of operators: a mock API server, scenarios against it, and a real control plane.
//!
//! Only with the feature `testing`, for dev-dependencies. What is here panics where a test should fail.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::missing_panics_doc)]

mod control_plane;
mod mock;
#[cfg(test)]
pub(crate) mod sample;
mod scenario;

pub use control_plane::{ControlPlane, LaunchError, Running};
pub use mock::{Backup, Call, Fault, MockApi, MockOptions, Store};
pub use scenario::{Scenario, Settings};

use crate::context::Platform;
use crate::controller::{Invalid, Observed, Reconciler, pure};
use crate::identity::Identity;
use serde_json::Value;

/// Returns the view of a world in which nothing but the object exists; extend it by `with_child` and the like.
#[must_use]
pub fn observed<R: Reconciler>(reconciler: &R, object: &R::Object) -> Observed {
    pure::observed(reconciler, object)
}

/// Returns the children of an object as they are applied, by an operator with this name.
///
/// # Errors
/// When the reconciler finds the object invalid.
pub fn desired<R: Reconciler>(
    reconciler: &R,
    object: &R::Object,
    identity: &Identity,
) -> Result<Vec<Value>, Invalid> {
    desired_on(reconciler, object, identity, Platform::default())
}

/// Returns the children of an object as they are applied on a platform.
///
/// # Errors
/// When the reconciler finds the object invalid.
pub fn desired_on<R: Reconciler>(
    reconciler: &R,
    object: &R::Object,
    identity: &Identity,
    platform: Platform,
) -> Result<Vec<Value>, Invalid> {
    let observed = observed(reconciler, object).on(platform);
    pure::desired(reconciler, object, &observed, identity)
        .expect("the children are declared and can be serialized")
}

/// Returns whether the example of the reconciler's digests covers everything that is applied for an object: only then is
/// the object compared by digests.
#[must_use]
pub fn is_covered<R: Reconciler>(reconciler: &R, object: &R::Object, identity: &Identity) -> bool {
    let observed = observed(reconciler, object);
    pure::covered(reconciler, object, &observed, identity)
        .expect("the children are declared and can be serialized")
}
