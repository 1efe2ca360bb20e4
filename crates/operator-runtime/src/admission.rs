//! Admission webhooks: a review goes in, a decision comes out.
//!
//! The same declaration serves the webhook and generates its configuration. Prefer what a schema can say: webhooks have to
//! be reachable, and they delay every write.

use crate::controller::{Invalid, Key};
use crate::conversion::{self, CONVERT_PATH, Conversion, ConversionRequest};
use crate::reviews;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::Resource;
use kube::core::{ApiResource, DynamicObject};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::fmt;
use std::sync::Arc;

pub use kube::core::admission::{AdmissionRequest, Operation};

/// A request to admit an object of any kind.
pub type Request = AdmissionRequest<DynamicObject>;

/// What most webhooks need of a request.
pub trait RequestExt {
    /// Parses the object.
    ///
    /// # Errors
    /// If it does not have the form of `K`; [`Decision::denied`] takes the error as it is.
    fn parse<K: DeserializeOwned>(&self) -> Result<K, Invalid>;

    /// Returns the spec of the object as it is to be stored; null if it has none or is deleted.
    fn spec(&self) -> &Value;

    /// Returns the spec of the object as it is stored; null if it has none or is created.
    fn old_spec(&self) -> &Value;

    /// Whether an update leaves the spec as it is: finalizers and labels of an object that was stored earlier can then be
    /// changed even if it is invalid.
    fn keeps_spec(&self) -> bool;

    /// Returns namespace and name of the object; the name may be empty when it is created.
    fn key(&self) -> Key;
}

impl RequestExt for Request {
    fn parse<K: DeserializeOwned>(&self) -> Result<K, Invalid> {
        let object = self.object.as_ref().ok_or_else(|| Invalid::new("missing field `object`"))?;
        let value = serde_json::to_value(object).map_err(Invalid::new)?;
        serde_json::from_value(value).map_err(|error| Invalid::new(format!("spec: {error}")))
    }

    fn spec(&self) -> &Value {
        spec_of(self.object.as_ref())
    }

    fn old_spec(&self) -> &Value {
        spec_of(self.old_object.as_ref())
    }

    fn keeps_spec(&self) -> bool {
        self.old_object.is_some() && self.spec() == self.old_spec()
    }

    fn key(&self) -> Key {
        Key { namespace: self.namespace.clone().unwrap_or_default(), name: self.name.clone() }
    }
}

fn spec_of(object: Option<&DynamicObject>) -> &Value {
    object.map_or(&Value::Null, |object| &object.data["spec"])
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

/// Responds to a conversion request.
type Respond = Arc<dyn Fn(&ConversionRequest<'_>) -> Vec<u8> + Send + Sync>;

/// What a webhook does.
#[derive(Clone)]
pub(crate) enum Handler {
    Mutating(Decide),
    Validating(Decide),
    Conversion(Respond),
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
        Self::new::<Hub>(Handler::Conversion(Arc::new(move |request| conversion.respond(request))))
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

    /// Whether it converts objects of this group and kind.
    pub(crate) fn converts(&self, group: &str, kind: &str) -> bool {
        matches!(self.handler, Handler::Conversion(_))
            && self.resource.group == group
            && self.resource.kind == kind
    }

    /// Returns its name in the webhook configuration, as in kubebuilder's scaffold.
    pub(crate) fn name(&self) -> String {
        let prefix = if matches!(self.handler, Handler::Mutating(_)) { "m" } else { "v" };
        format!("{prefix}{}-{}.kb.io", self.resource.kind.to_lowercase(), self.resource.version)
    }

    /// Returns the response to a review, both as JSON.
    ///
    /// A request with an object of more than 50,000 values is denied before it is parsed, because of the memory that it would
    /// take.
    #[must_use]
    pub fn respond(&self, review: &[u8]) -> Vec<u8> {
        let decide = match &self.handler {
            Handler::Mutating(decide) | Handler::Validating(decide) => decide,
            Handler::Conversion(_) => return conversion::respond(std::slice::from_ref(self), review),
        };
        let (uid, decision) = match parse(review) {
            Ok(request) => {
                let decision = decide(&request);
                (request.uid, decision)
            }
            Err(UnreadableReview { uid, message }) => (uid, Decision::denied(message)),
        };
        response(&uid, decision).to_string().into_bytes()
    }
}

/// Why a request cannot be decided on.
struct UnreadableReview {
    uid: String,
    message: String,
}

/// Parses the request of a review of `admission.k8s.io/v1`.
fn parse(review: &[u8]) -> Result<Request, UnreadableReview> {
    #[derive(Deserialize)]
    struct Review<'a> {
        #[serde(borrow)]
        request: Option<&'a RawValue>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Head<'a> {
        uid: String,
        #[serde(borrow)]
        object: Option<&'a RawValue>,
        #[serde(borrow)]
        old_object: Option<&'a RawValue>,
    }
    let invalid = |uid: &str, error: serde_json::Error| {
        let message = format!("invalid AdmissionReview: {error}");
        UnreadableReview { uid: uid.to_owned(), message }
    };
    let review: Review<'_> = serde_json::from_slice(review).map_err(|error| invalid("", error))?;
    let request = review.request.ok_or_else(|| UnreadableReview {
        uid: String::new(),
        message: "invalid AdmissionReview: missing field `request`".to_owned(),
    })?;
    let Head { uid, object, old_object } =
        serde_json::from_str(request.get()).map_err(|error| invalid("", error))?;
    let objects = [object, old_object].into_iter().flatten().collect::<Vec<_>>();
    reviews::check(request, &objects).map_err(|message| UnreadableReview { uid: uid.clone(), message })?;
    serde_json::from_str(request.get()).map_err(|error| invalid(&uid, error))
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
    use crate::reviews::MAX_OBJECT_VALUES;
    use crate::testing::admission_review;
    use crate::testing::sample::Cluster;

    fn respond(webhook: &Webhook, review: &Value) -> Value {
        let response = webhook.respond(review.to_string().as_bytes());
        serde_json::from_slice::<Value>(&response).unwrap()["response"].clone()
    }

    #[test]
    fn review_without_a_request_is_denied() {
        let webhook = Webhook::validating::<Cluster>(|_| Decision::allowed());
        for review in [json!({}), json!({"request": 7}), json!({"request": {"uid": "7"}}), json!([])] {
            assert_eq!(respond(&webhook, &review)["allowed"], false, "{review}");
        }
    }

    #[test]
    fn decision_becomes_a_response_with_its_uid() {
        let webhook = Webhook::defaulting::<Cluster>(|request| {
            let user = request.user_info.username.clone().unwrap_or_default();
            Decision::allowed().set("/spec/size", 3).remove("/spec/note").warn(user)
        });
        assert_eq!(webhook.path(), "/mutate-example-com-v1-cluster");
        let review = admission_review(&json!({"metadata": {"name": "a"}, "spec": {"size": 1}}), None);
        let response = respond(&webhook, &review);
        let patch = STANDARD.decode(response["patch"].as_str().unwrap()).unwrap();
        let patch: Value = serde_json::from_slice(&patch).unwrap();
        assert_eq!(response["uid"], review["request"]["uid"]);
        assert_eq!(response["warnings"], json!([review["request"]["userInfo"]["username"]]));
        assert_eq!(patch[0], json!({"op": "add", "path": "/spec/size", "value": 3}));
        assert_eq!(patch[1]["op"], "remove");
    }

    #[test]
    fn object_with_too_many_values_is_denied_with_the_uid_and_before_it_is_parsed() {
        let webhook = Webhook::validating::<Cluster>(|_| panic!("it is not parsed"));
        let review = admission_review(&json!({"spec": vec![0; MAX_OBJECT_VALUES]}), None);
        let response = respond(&webhook, &review);
        assert_eq!((&response["allowed"], &response["uid"]), (&json!(false), &review["request"]["uid"]));
        assert_eq!(
            response["status"]["message"],
            "the object has more than 50000 values, which is too many for this webhook"
        );
    }
}
