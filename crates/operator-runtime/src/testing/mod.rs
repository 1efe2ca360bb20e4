//! Tests of operators: a mock API server, scenarios against it, and a real control plane.
//!
//! Only with the feature `testing`, for dev-dependencies. What is here panics where a test should fail.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::missing_panics_doc)]

mod control_plane;
mod mock;
#[cfg(test)]
pub(crate) mod sample;
mod scenario;

pub use control_plane::{ControlPlane, LaunchError, RunningManager};
pub use mock::{Backup, Call, Fault, MockApi, MockOptions, MockStore};
pub use scenario::{Scenario, ScenarioSettings};

use crate::context::Platform;
use crate::controller::{Error, Observed, Reconciler, pure};
use crate::identity::Identity;
use serde_json::{Value, json};

/// Returns the view of a world in which nothing but the object exists; extend it by `with_child` and the like.
#[must_use]
pub fn observed<R: Reconciler>(reconciler: &R, object: &R::Object) -> Observed {
    pure::observed(reconciler, object)
}

/// Returns the children of an object as they are applied, by an operator with this name.
///
/// # Errors
/// Those of [`Reconciler::desired`], and when a child is of a kind that is not declared.
pub fn desired<R: Reconciler>(
    reconciler: &R,
    object: &R::Object,
    identity: &Identity,
) -> Result<Vec<Value>, Error> {
    desired_on(reconciler, object, identity, Platform::default())
}

/// Returns the children of an object as they are applied on a platform.
///
/// # Errors
/// Those of [`Reconciler::desired`], and when a child is of a kind that is not declared.
pub fn desired_on<R: Reconciler>(
    reconciler: &R,
    object: &R::Object,
    identity: &Identity,
    platform: Platform,
) -> Result<Vec<Value>, Error> {
    let observed = observed(reconciler, object).on(platform);
    pure::desired(reconciler, object, &observed, identity)
}

/// Returns whether the example of the reconciler's digests covers everything that is applied for an object: only then is
/// the object compared by digests.
#[must_use]
pub fn is_covered<R: Reconciler>(reconciler: &R, object: &R::Object, identity: &Identity) -> bool {
    let observed = observed(reconciler, object);
    pure::covered(reconciler, object, &observed, identity)
        .expect("the children are declared and can be serialized")
}

/// Returns an admission review of an object to be created or, with the stored one, updated; for
/// [`Webhook::respond`](crate::admission::Webhook::respond).
#[must_use]
pub fn admission_review(object: &Value, old: Option<&Value>) -> Value {
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": {"group": group, "version": version, "kind": object["kind"].as_str().unwrap_or_default()},
            "resource": {"group": group, "version": version, "resource": ""},
            "name": object["metadata"]["name"].as_str().unwrap_or_default(),
            "namespace": object["metadata"]["namespace"],
            "operation": if old.is_some() { "UPDATE" } else { "CREATE" },
            "userInfo": {"username": "admin"},
            "object": object,
            "oldObject": old,
            "dryRun": false,
        },
    })
}
