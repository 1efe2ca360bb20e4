//! Admission webhooks: a review goes in, a decision comes out.
//!
//! The same declaration serves the webhook and generates its configuration. Prefer what a schema can say: webhooks have to
//! be reachable, and they delay every write.
//!
//! A webhook gets the whole [`AdmissionRequest`] of kube (user, operation, dry run, both objects) and the manager's client:
//!
//! ```
//! use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
//! use kube::{Api, Client};
//! use operator_runtime::admission::{Decision, Request, RequestExt as _, Webhook};
//! use operator_runtime::controller::{Error, Invalid};
//!
//! /// Denies settings in namespaces that are locked, except to administrators.
//! async fn check(request: Request, client: Client) -> Result<Decision, Error> {
//!     let groups = request.user_info.groups.iter().flatten();
//!     if request.dry_run || groups.into_iter().any(|group| group == "system:masters") {
//!         return Ok(Decision::allowed());
//!     }
//!     let new = request.parse::<ConfigMap>()?;
//!     let old = request.parse_old::<ConfigMap>()?;
//!     if old.is_some_and(|old| old.data == new.data) {
//!         return Ok(Decision::allowed());
//!     }
//!     let namespace = Api::<Namespace>::all(client).get(&request.key().namespace).await?;
//!     if namespace.metadata.annotations.unwrap_or_default().contains_key("example.com/locked") {
//!         return Err(Invalid::new("data: the namespace is locked").into());
//!     }
//!     Ok(Decision::allowed())
//! }
//!
//! let webhook = Webhook::validating::<ConfigMap, _>(check);
//! assert_eq!(webhook.path(), "/validate--v1-configmap");
//! ```

use crate::controller::{Error, Invalid, Key};
use crate::conversion::{self, CONVERT_PATH, Conversion, Converter};
use crate::reviews;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::FutureExt;
use futures::future::BoxFuture;
use kube::core::{ApiResource, DynamicObject};
use kube::{Client, Resource};
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
    /// Parses the object as it is to be stored.
    ///
    /// # Errors
    /// If there is none, as in a deletion, or it does not have the form of `K`. Returned by a webhook, the error denies the
    /// request.
    fn parse<K: DeserializeOwned>(&self) -> Result<K, Invalid>;

    /// Parses the object as it is stored; `None` if it is created.
    ///
    /// # Errors
    /// If it does not have the form of `K`, as after a change of its CRD.
    fn parse_old<K: DeserializeOwned>(&self) -> Result<Option<K>, Invalid>;

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
        parse_object(self.object.as_ref().ok_or_else(|| Invalid::new("missing field `object`"))?)
    }

    fn parse_old<K: DeserializeOwned>(&self) -> Result<Option<K>, Invalid> {
        self.old_object.as_ref().map(parse_object).transpose()
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

fn parse_object<K: DeserializeOwned>(object: &DynamicObject) -> Result<K, Invalid> {
    let value = serde_json::to_value(object).map_err(Invalid::new)?;
    // With the path of the field, such as `spec.size: invalid type`.
    serde_path_to_error::deserialize(value).map_err(Invalid::new)
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
type Decide = Arc<dyn Fn(Request, Client) -> BoxFuture<'static, Result<Decision, Error>> + Send + Sync>;

/// What a webhook does.
#[derive(Clone)]
pub(crate) enum Handler {
    Mutating(Decide),
    Validating(Decide),
    Conversion(Converter),
}

/// A webhook of a kind.
#[derive(Clone)]
pub struct Webhook {
    pub(crate) resource: ApiResource,
    pub(crate) handler: Handler,
    pub(crate) fail_closed: bool,
    pub(crate) operations: Vec<Operation>,
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhook").field("path", &self.path()).finish_non_exhaustive()
    }
}

impl Webhook {
    /// Returns a webhook that completes objects of a kind before they are validated.
    ///
    /// It decides on a request with the manager's client, for at most ten seconds. [`Invalid`] denies the request. Any other
    /// error is a failure of the webhook, which the API server ignores unless it [fails closed](Self::fail_closed).
    #[must_use]
    pub fn defaulting<K, F>(decide: impl Fn(Request, Client) -> F + Send + Sync + 'static) -> Self
    where
        K: Resource<DynamicType = ()>,
        F: Future<Output = Result<Decision, Error>> + Send + 'static,
    {
        Self::new::<K>(Handler::Mutating(Arc::new(move |request, client| decide(request, client).boxed())))
    }

    /// Returns a webhook that rejects invalid objects of a kind.
    ///
    /// It decides on a request with the manager's client, for at most ten seconds. [`Invalid`] denies the request. Any other
    /// error is a failure of the webhook, which the API server ignores unless it [fails closed](Self::fail_closed).
    #[must_use]
    pub fn validating<K, F>(decide: impl Fn(Request, Client) -> F + Send + Sync + 'static) -> Self
    where
        K: Resource<DynamicType = ()>,
        F: Future<Output = Result<Decision, Error>> + Send + 'static,
    {
        Self::new::<K>(Handler::Validating(Arc::new(move |request, client| decide(request, client).boxed())))
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
        let operations = vec![Operation::Create, Operation::Update];
        Self { resource: ApiResource::erase::<K>(&()), handler, fail_closed: false, operations }
    }

    /// Has it called for these operations, instead of when an object is created or updated. On deletion, only the old object
    /// is given.
    #[must_use]
    pub fn on(self, operations: impl IntoIterator<Item = Operation>) -> Self {
        Self { operations: operations.into_iter().collect(), ..self }
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

    /// Returns what converts objects of this group and kind, if it does.
    pub(crate) fn converter(&self, group: &str, kind: &str) -> Option<&Converter> {
        let Handler::Conversion(converter) = &self.handler else { return None };
        (self.resource.group == group && self.resource.kind == kind).then_some(converter)
    }

    /// Returns its name in the webhook configuration, as in kubebuilder's scaffold, and with the group if that is needed.
    pub(crate) fn name(&self, group: Option<&str>) -> String {
        let prefix = if matches!(self.handler, Handler::Mutating(_)) { "m" } else { "v" };
        let group = group.map(|group| format!(".{group}")).unwrap_or_default();
        format!("{prefix}{}-{}{group}.kb.io", self.resource.kind.to_lowercase(), self.resource.version)
    }

    /// Returns the response to a review, both as JSON.
    ///
    /// A request with an object of more than 50,000 values is denied before it is parsed, because of the memory that it would
    /// take.
    ///
    /// # Errors
    /// When the webhook fails for another reason than [`Invalid`]; the server then responds with an error.
    pub async fn respond(&self, client: &Client, review: &[u8]) -> Result<Vec<u8>, Error> {
        let decide = match &self.handler {
            Handler::Mutating(decide) | Handler::Validating(decide) => decide,
            Handler::Conversion(_) => {
                return Ok(conversion::respond(|group, kind| self.converter(group, kind), review));
            }
        };
        let (uid, decision) = match parse(review) {
            Ok(request) => {
                let uid = request.uid.clone();
                match decide(request, client.clone()).await {
                    Ok(decision) => (uid, decision),
                    Err(Error::Invalid(invalid)) => (uid, Decision::denied(invalid)),
                    Err(error) => return Err(error),
                }
            }
            Err(UnreadableReview { uid, message }) => (uid, Decision::denied(message)),
        };
        Ok(response(&uid, decision).to_string().into_bytes())
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
    use crate::testing::sample::Cluster;
    use crate::testing::{MockApi, admission_review};
    use k8s_openapi::api::core::v1::Namespace;
    use kube::Api;

    async fn respond(webhook: &Webhook, review: &Value) -> Value {
        let (_api, client) = MockApi::start();
        let response = webhook.respond(&client, review.to_string().as_bytes()).await.unwrap();
        serde_json::from_slice::<Value>(&response).unwrap()["response"].clone()
    }

    #[tokio::test]
    async fn review_without_a_request_is_denied() {
        let webhook = Webhook::validating::<Cluster, _>(async |_, _| Ok(Decision::allowed()));
        for review in [json!({}), json!({"request": 7}), json!({"request": {"uid": "7"}}), json!([])] {
            assert_eq!(respond(&webhook, &review).await["allowed"], false, "{review}");
        }
    }

    #[tokio::test]
    async fn decision_becomes_a_response_with_its_uid() {
        let webhook = Webhook::defaulting::<Cluster, _>(async |request: Request, _| {
            let user = request.user_info.username.unwrap_or_default();
            Ok(Decision::allowed().set("/spec/size", 3).remove("/spec/note").warn(user))
        });
        assert_eq!(webhook.path(), "/mutate-example-com-v1-cluster");
        let review = admission_review(&json!({"metadata": {"name": "a"}, "spec": {"size": 1}}), None);
        let response = respond(&webhook, &review).await;
        let patch = STANDARD.decode(response["patch"].as_str().unwrap()).unwrap();
        let patch: Value = serde_json::from_slice(&patch).unwrap();
        assert_eq!(response["uid"], review["request"]["uid"]);
        assert_eq!(response["warnings"], json!([review["request"]["userInfo"]["username"]]));
        assert_eq!(patch[0], json!({"op": "add", "path": "/spec/size", "value": 3}));
        assert_eq!(patch[1]["op"], "remove");
    }

    #[tokio::test]
    async fn object_with_too_many_values_is_denied_with_the_uid_and_before_it_is_parsed() {
        let webhook = Webhook::validating::<Cluster, _>(async |_, _| panic!("it is not parsed"));
        let review = admission_review(&json!({"spec": vec![0; MAX_OBJECT_VALUES]}), None);
        let response = respond(&webhook, &review).await;
        assert_eq!((&response["allowed"], &response["uid"]), (&json!(false), &review["request"]["uid"]));
        assert_eq!(
            response["status"]["message"],
            "the object has more than 50000 values, which is too many for this webhook"
        );
    }

    /// Denies objects in namespaces that do not exist, and larger ones than before, unless it is a dry run.
    async fn check(request: Request, client: Client) -> Result<Decision, Error> {
        if request.dry_run {
            return Ok(Decision::allowed().warn("not checked"));
        }
        let namespaces: Api<Namespace> = Api::all(client);
        namespaces.get(&request.key().namespace).await?;
        let size = request.parse::<Cluster>()?.spec.size;
        if request.parse_old::<Cluster>()?.is_some_and(|old| old.spec.size < size) {
            return Err(Invalid::new("spec.size: cannot grow").into());
        }
        Ok(Decision::allowed())
    }

    #[tokio::test]
    async fn webhook_asks_the_api_server_and_fails_if_that_does() {
        let (api, client) = MockApi::start();
        let webhook = Webhook::validating::<Cluster, _>(check);
        let object = |size: i32| {
            let metadata = json!({"name": "a", "namespace": "team"});
            json!({"apiVersion": "example.com/v1", "kind": "Cluster", "metadata": metadata, "spec": {"size": size}})
        };
        let mut review = admission_review(&object(2), Some(&object(1)));
        let bytes = review.to_string().into_bytes();
        let error = webhook.respond(&client, &bytes).await.unwrap_err().to_string();
        assert!(error.contains("NotFound"), "the namespace does not exist: {error}");
        api.put("namespaces", json!({"metadata": {"name": "team"}}));
        let response = webhook.respond(&client, &bytes).await.unwrap();
        let response: Value = serde_json::from_slice(&response).unwrap();
        assert_eq!(response["response"]["status"]["message"], "spec.size: cannot grow");
        let smaller = admission_review(&object(1), Some(&object(2))).to_string();
        let response = webhook.respond(&client, smaller.as_bytes()).await.unwrap();
        assert!(String::from_utf8(response).unwrap().contains("\"allowed\":true"));
        review["request"]["dryRun"] = json!(true);
        assert_eq!(respond(&webhook, &review).await["warnings"], json!(["not checked"]));
    }
}
