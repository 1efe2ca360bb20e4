//! Admission webhooks: a review goes in, a decision comes out.
//!
//! The same declaration serves the webhook and generates its configuration. Prefer what a schema can say: webhooks have to
//! be reachable, and they delay every write.

use crate::controller::{Invalid, Key};
use crate::conversion::{self, CONVERT_PATH, Conversion};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::Resource;
use kube::core::ApiResource;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fmt;
use std::sync::Arc;

/// The parts of an `admission.k8s.io/v1` review that are used.
#[derive(Debug, Deserialize)]
pub(crate) struct Review {
    request: Option<Request>,
}

/// A request to admit an object.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    uid: String,
    /// `CREATE`, `UPDATE` or `DELETE`.
    #[serde(default)]
    pub operation: String,
    /// The object as it is to be stored; null if it is deleted.
    #[serde(default)]
    pub object: Value,
    /// The object as it is stored; null if it is created.
    #[serde(default)]
    pub old_object: Value,
    /// Namespace of the object.
    #[serde(default)]
    pub namespace: String,
    /// Name of the object; may be empty when it is created.
    #[serde(default)]
    pub name: String,
}

impl Request {
    /// Parses the object.
    ///
    /// # Errors
    /// If it does not have the form of `K`; [`Decision::denied`] takes the error as it is.
    pub fn parse<K: DeserializeOwned>(&self) -> Result<K, Invalid> {
        K::deserialize(&self.object).map_err(|error| Invalid::new(format!("spec: {error}")))
    }

    /// Whether an update leaves the spec as it is: finalizers and labels of an object that was stored earlier can then be
    /// changed even if it is invalid.
    #[must_use]
    pub fn keeps_spec(&self) -> bool {
        !self.old_object.is_null() && self.object["spec"] == self.old_object["spec"]
    }

    /// Returns namespace and name of the object.
    #[must_use]
    pub fn key(&self) -> Key {
        Key { namespace: self.namespace.clone(), name: self.name.clone() }
    }
}

/// The decision about a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    reason: Option<String>,
    warnings: Vec<String>,
    patch: Vec<Value>,
}

impl Decision {
    /// Allows the request.
    #[must_use]
    pub fn allowed() -> Self {
        Self::default()
    }

    /// Denies the request; the reason begins with the field, such as `spec.size: must be at least 1`.
    #[must_use]
    pub fn denied(reason: impl Into<String>) -> Self {
        Self { reason: Some(reason.into()), ..Self::default() }
    }

    /// Adds a warning, which the client shows to the user.
    #[must_use]
    pub fn warn(mut self, warning: impl Into<String>) -> Self {
        self.warnings.push(warning.into());
        self
    }

    /// Sets a field, given as a JSON pointer such as `/spec/size`.
    #[must_use]
    pub fn set(mut self, pointer: &str, value: impl Into<Value>) -> Self {
        self.patch.push(json!({ "op": "add", "path": pointer, "value": value.into() }));
        self
    }

    /// Removes a field, given as a JSON pointer.
    #[must_use]
    pub fn remove(mut self, pointer: &str) -> Self {
        self.patch.push(json!({ "op": "remove", "path": pointer }));
        self
    }
}

/// Decides about a request.
type Decide = Arc<dyn Fn(&Request) -> Decision + Send + Sync>;

/// What a webhook does.
#[derive(Clone)]
pub(crate) enum Handler {
    Mutating(Decide),
    Validating(Decide),
    Conversion(Arc<dyn Fn(Value) -> Value + Send + Sync>),
}

/// A webhook of a kind.
#[derive(Clone)]
pub struct Webhook {
    pub(crate) resource: ApiResource,
    pub(crate) handler: Handler,
    pub(crate) fail_closed: bool,
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhook").field("path", &self.path()).finish_non_exhaustive()
    }
}

impl Webhook {
    /// Returns a webhook that completes objects of a kind before they are validated.
    #[must_use]
    pub fn defaulting<K: Resource<DynamicType = ()>>(
        decide: impl Fn(&Request) -> Decision + Send + Sync + 'static,
    ) -> Self {
        Self::new::<K>(Handler::Mutating(Arc::new(decide)))
    }

    /// Returns a webhook that rejects invalid objects of a kind.
    #[must_use]
    pub fn validating<K: Resource<DynamicType = ()>>(
        decide: impl Fn(&Request) -> Decision + Send + Sync + 'static,
    ) -> Self {
        Self::new::<K>(Handler::Validating(Arc::new(decide)))
    }

    /// Returns a webhook that converts the versions of a kind.
    #[must_use]
    pub fn conversion<Hub>(conversion: Conversion<Hub>) -> Self
    where
        Hub: Resource<DynamicType = ()> + Serialize + DeserializeOwned + 'static,
    {
        Self::new::<Hub>(Handler::Conversion(Arc::new(move |review| conversion.respond(review))))
    }

    fn new<K: Resource<DynamicType = ()>>(handler: Handler) -> Self {
        Self { resource: ApiResource::erase::<K>(&()), handler, fail_closed: false }
    }

    /// Has the API server reject writes while no manager responds; it ignores the webhook otherwise.
    #[must_use]
    pub fn fail_closed(self) -> Self {
        Self { fail_closed: true, ..self }
    }

    /// Returns the path under which it is served, as in kubebuilder's scaffold.
    #[must_use]
    pub fn path(&self) -> String {
        let ApiResource { group, version, kind, .. } = &self.resource;
        let of =
            |verb: &str| format!("/{verb}-{}-{version}-{}", group.replace('.', "-"), kind.to_lowercase());
        match self.handler {
            Handler::Mutating(_) => of("mutate"),
            Handler::Validating(_) => of("validate"),
            Handler::Conversion(_) => CONVERT_PATH.to_owned(),
        }
    }

    /// Whether a review asks for a conversion of this webhook's kind; all objects of a review are of one kind.
    pub(crate) fn converts(&self, review: &Value) -> bool {
        let ApiResource { group, kind, .. } = &self.resource;
        conversion::kind_of(review) == (group.as_str(), kind.as_str())
    }

    /// Returns its name in the webhook configuration, as in kubebuilder's scaffold.
    pub(crate) fn name(&self) -> String {
        let prefix = if matches!(self.handler, Handler::Mutating(_)) { "m" } else { "v" };
        format!("{prefix}{}-{}.kb.io", self.resource.kind.to_lowercase(), self.resource.version)
    }

    /// Returns the response to a review.
    #[must_use]
    pub fn respond(&self, review: Value) -> Value {
        let decide = match &self.handler {
            Handler::Mutating(decide) | Handler::Validating(decide) => decide,
            Handler::Conversion(conversion) => return conversion(review),
        };
        let (uid, decision) = match serde_json::from_value::<Review>(review) {
            Ok(Review { request: Some(request) }) => {
                let decision = decide(&request);
                (request.uid, decision)
            }
            Ok(Review { request: None }) => (String::new(), Decision::denied("missing field `request`")),
            Err(error) => (String::new(), Decision::denied(format!("invalid AdmissionReview: {error}"))),
        };
        response(&uid, decision)
    }
}

fn response(uid: &str, decision: Decision) -> Value {
    let mut response = json!({ "uid": uid, "allowed": decision.reason.is_none() });
    if let Some(message) = decision.reason {
        response["status"] = json!({ "code": 422, "reason": "Invalid", "message": message });
    }
    if !decision.warnings.is_empty() {
        response["warnings"] = decision.warnings.into();
    }
    if !decision.patch.is_empty() {
        response["patchType"] = "JSONPatch".into();
        response["patch"] = STANDARD.encode(Value::from(decision.patch).to_string()).into();
    }
    json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sample::Cluster;

    #[test]
    fn a_review_without_a_request_is_denied() {
        let webhook = Webhook::validating::<Cluster>(|_| Decision::allowed());
        for review in [json!({}), json!({"request": 7})] {
            assert_eq!(webhook.respond(review)["response"]["allowed"], false);
        }
    }

    #[test]
    fn a_decision_becomes_a_response_with_its_uid() {
        let webhook = Webhook::defaulting::<Cluster>(|request| {
            Decision::allowed().set("/spec/size", 3).remove("/spec/note").warn(request.operation.clone())
        });
        assert_eq!(webhook.path(), "/mutate-example-com-v1-cluster");
        let response =
            webhook.respond(json!({"request": {"uid": "7", "operation": "CREATE"}}))["response"].clone();
        let patch = STANDARD.decode(response["patch"].as_str().unwrap()).unwrap();
        let patch: Value = serde_json::from_slice(&patch).unwrap();
        assert_eq!((&response["uid"], &response["warnings"]), (&json!("7"), &json!(["CREATE"])));
        assert_eq!(patch[0], json!({"op": "add", "path": "/spec/size", "value": 3}));
        assert_eq!(patch[1]["op"], "remove");
    }
}
