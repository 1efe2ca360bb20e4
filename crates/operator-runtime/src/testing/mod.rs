//! Tests of operators: a mock API server, scenarios against it, and a real control plane.
//!
//! Only with the feature `testing`, for dev-dependencies. What is here panics where a test should fail.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::missing_panics_doc)]

mod control_plane;
mod defaults;
mod diagnostics;
mod mock;
#[cfg(test)]
pub(crate) mod sample;
mod scenario;

pub use control_plane::{ControlPlane, LaunchError, RunningManager};
pub use mock::{Backup, Call, Fault, MockApi, MockOptions, MockStore};
pub use scenario::{Scenario, ScenarioSettings};

use crate::context::Platform;
use crate::controller::{Declared, Error, Observed, Reconciler, Watches, pure};
use crate::identity::Identity;
use serde_json::{Value, json};
use std::ops::Deref;
use std::sync::Arc;

/// A reconciler with what it declared, to test its pure functions. Dereferences to the reconciler.
///
/// ```
/// # use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
/// # use operator_runtime::controller::{Child, Children, Error, Observed, Reconciler, Watches};
/// # struct Greetings { text: Child<ConfigMap> }
/// # impl Greetings {
/// #     fn new(watches: &mut Watches<Namespace>) -> Self { Self { text: watches.child() } }
/// # }
/// # impl Reconciler for Greetings {
/// #     type Object = Namespace;
/// #     type Status = ();
/// #     type External = ();
/// #     fn desired(&self, _: &Namespace, _: &Observed<Self>) -> Result<Children, Error> { Ok(Children::new()) }
/// #     fn status(&self, _: &Namespace, _: &Observed<Self>) {}
/// # }
/// # use serde_json::json;
/// use operator_runtime::testing::TestController;
///
/// let greetings = TestController::new(Greetings::new);
/// let object = Namespace::default();
/// let observed = greetings.observed(&object).with_child(greetings.text, "hello", &json!({}));
/// assert!(greetings.desired(&object, &observed).is_ok());
/// ```
#[derive(Debug)]
pub struct TestController<R> {
    reconciler: R,
    declared: Arc<Declared>,
}

impl<R> Deref for TestController<R> {
    type Target = R;

    fn deref(&self) -> &R {
        &self.reconciler
    }
}

impl<R: Reconciler> TestController<R> {
    /// Builds a reconciler as [`Operator::controller`](crate::Operator::controller) does.
    pub fn new(build: impl FnOnce(&mut Watches<R::Object>) -> R) -> Self {
        let mut watches = Watches::new();
        let reconciler = build(&mut watches);
        Self { reconciler, declared: Arc::new(watches.declared) }
    }

    /// Returns the view of a world in which nothing but the object exists; extend it by `with_child`, `with_reference`,
    /// `with_external` and the like.
    #[must_use]
    pub fn observed(&self, object: &R::Object) -> Observed<R> {
        pure::observed::<R>(&self.declared, object)
    }

    /// Returns the children of an object as they are applied by an operator with this name, in a world in which nothing else
    /// exists.
    ///
    /// # Errors
    /// Those of [`Reconciler::desired`], and when a child has no name, for example.
    pub fn applied(&self, object: &R::Object, identity: &Identity) -> Result<Vec<Value>, Error> {
        self.applied_from(object, &self.observed(object), identity)
    }

    /// Returns the children of an object as they are applied on a platform.
    ///
    /// # Errors
    /// Those of [`TestController::applied`].
    pub fn applied_on(
        &self,
        object: &R::Object,
        identity: &Identity,
        platform: Platform,
    ) -> Result<Vec<Value>, Error> {
        self.applied_from(object, &self.observed(object).on(platform), identity)
    }

    /// Returns the children of an object as they are applied after this was observed.
    ///
    /// # Errors
    /// Those of [`TestController::applied`].
    pub fn applied_from(
        &self,
        object: &R::Object,
        observed: &Observed<R>,
        identity: &Identity,
    ) -> Result<Vec<Value>, Error> {
        pure::desired::<R>(&self.reconciler, &self.declared, object, observed, identity)
    }

    /// Returns whether the example of the reconciler's digests covers everything that is applied for an object: only then is
    /// the object compared by digests.
    #[must_use]
    pub fn is_covered(&self, object: &R::Object, identity: &Identity) -> bool {
        pure::covered(&self.reconciler, &self.declared, object, &self.observed(object), identity)
            .expect("the children are declared and can be serialized")
    }
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
