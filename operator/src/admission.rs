//! The responses of the admission webhooks. Pure: a review goes in, a review comes out.
//!
//! The CRD's schema has the defaults and most of the validation; the webhooks demonstrate the rest. The defaulter trims
//! the image, which comes before the schema's validation. The validator rejects what the schema cannot, such as malformed
//! label keys, and warns of changes with side effects. Updates that do not change the spec are always allowed: finalizers
//! and labels of an object that was stored earlier can be changed.

use crate::controller::check;
use crate::crd::{DEFAULT_PORT, Memcached};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

/// Path of the defaulting webhook, as in kubebuilder's scaffold.
pub const MUTATE_PATH: &str = "/mutate-cache-example-com-v1-memcached";
/// Path of the validating webhook.
pub const VALIDATE_PATH: &str = "/validate-cache-example-com-v1-memcached";

/// The parts of an `admission.k8s.io/v1` review that are used.
#[derive(Debug, Deserialize)]
pub struct Review {
    request: Option<Request>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    uid: String,
    #[serde(default)]
    object: Value,
    #[serde(default)]
    old_object: Value,
}

/// Returns the response of the defaulting webhook.
#[must_use]
pub fn mutate(review: Review) -> Value {
    response(review, |request| {
        let Some(spec) = request.object["spec"].as_object() else { return Decision::allowed() };
        let mut patch = Vec::new();
        if spec.get("containerPort").is_none_or(|port| port.is_null() || *port == 0) {
            patch.push(json!({ "op": "add", "path": "/spec/containerPort", "value": DEFAULT_PORT }));
        }
        let image = spec.get("image").and_then(Value::as_str);
        if let Some(trimmed) = image.map(str::trim).filter(|trimmed| Some(*trimmed) != image) {
            patch.push(if trimmed.is_empty() {
                json!({ "op": "remove", "path": "/spec/image" })
            } else {
                json!({ "op": "replace", "path": "/spec/image", "value": trimmed })
            });
        }
        Decision { patch, ..Decision::allowed() }
    })
}

/// Returns the response of the validating webhook; `operand_image` is used unless a Memcached sets an image.
#[must_use]
pub fn validate(review: Review, operand_image: &str) -> Value {
    response(review, |request| {
        let Request { object, old_object, .. } = request;
        if !old_object.is_null() && object["spec"] == old_object["spec"] {
            return Decision::allowed();
        }
        let memcached = match serde_json::from_value::<Memcached>(object.clone()) {
            Ok(memcached) => memcached,
            Err(error) => return Decision::denied(format!("spec: {error}")),
        };
        if let Err(reason) = check(&memcached, operand_image) {
            return Decision::denied(reason);
        }
        Decision { warnings: warnings(&memcached, old_object), ..Decision::allowed() }
    })
}

/// Returns warnings about changes with side effects.
fn warnings(memcached: &Memcached, old: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    let size = memcached.spec.size;
    if let Some(before) = old["spec"]["size"].as_i64().filter(|before| *before > i64::from(size)) {
        warnings.push(format!(
            "spec.size: scaling from {before} to {size} servers loses the items of the removed servers, and clients that \
             hash keys over the servers will miss most keys for a while"
        ));
    }
    let port = i64::from(memcached.spec.container_port);
    if old["spec"]["containerPort"].as_i64().is_some_and(|before| before != port) {
        warnings.push(format!(
            "spec.containerPort: all servers are replaced to listen on port {port}; clients have to use the new port"
        ));
    }
    warnings
}

struct Decision {
    reason: Option<String>,
    warnings: Vec<String>,
    patch: Vec<Value>,
}

impl Decision {
    fn allowed() -> Self {
        Self { reason: None, warnings: Vec::new(), patch: Vec::new() }
    }

    fn denied(reason: String) -> Self {
        Self { reason: Some(reason), ..Self::allowed() }
    }
}

fn response(review: Review, decide: impl FnOnce(&Request) -> Decision) -> Value {
    let (uid, decision) = match review.request {
        Some(request) => {
            let decision = decide(&request);
            (request.uid, decision)
        }
        None => (String::new(), Decision::denied("missing field `request`".to_owned())),
    };
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

    fn review(spec: &Value, old: Option<&Value>) -> Review {
        let object = |spec: &Value| {
            json!({
                "apiVersion": "cache.example.com/v1alpha1", "kind": "Memcached",
                "metadata": {"name": "cache", "namespace": "ns"}, "spec": spec,
            })
        };
        let old = old.map(object).unwrap_or_default();
        serde_json::from_value(json!({"request": {"uid": "7", "object": object(spec), "oldObject": old}}))
            .unwrap()
    }

    fn validated(spec: &Value, old: Option<&Value>) -> Value {
        validate(review(spec, old), "m:1")["response"].clone()
    }

    fn patch_of(spec: &Value) -> Value {
        let response = mutate(review(spec, None))["response"].clone();
        assert_eq!(response["allowed"], true);
        match response["patch"].as_str() {
            Some(patch) => serde_json::from_slice(&STANDARD.decode(patch).unwrap()).unwrap(),
            None => Value::Null,
        }
    }

    #[test]
    fn a_missing_port_is_defaulted_and_a_given_one_is_kept() {
        assert_eq!(patch_of(&json!({"size": 1}))[0]["value"], 11211);
        assert_eq!(patch_of(&json!({"size": 1, "containerPort": 12000})), Value::Null);
    }

    #[test]
    fn whitespace_around_an_image_is_trimmed() {
        let patch = patch_of(&json!({"size": 1, "containerPort": 11211, "image": " m:1 "}));
        assert_eq!(patch, json!([{"op": "replace", "path": "/spec/image", "value": "m:1"}]));
    }

    #[test]
    fn what_the_controller_rejects_is_denied_with_its_field() {
        for (spec, field) in [
            (json!({"size": 9, "containerPort": 11211}), "spec.size"),
            (json!({"size": 1, "containerPort": 80}), "spec.containerPort"),
            (json!({"size": 1, "containerPort": 11211, "image": "no image"}), "spec.image"),
            (json!({"size": "x"}), "spec"),
        ] {
            let response = validated(&spec, None);
            assert_eq!(response["allowed"], false, "{spec}");
            assert_eq!(response["uid"], "7");
            assert!(response["status"]["message"].as_str().unwrap().starts_with(field), "{response}");
        }
    }

    #[test]
    fn scaling_down_is_allowed_with_a_warning() {
        let response = validated(&json!({"size": 1}), Some(&json!({"size": 5})));
        assert_eq!(response["allowed"], true);
        assert!(response["warnings"][0].as_str().unwrap().contains("from 5 to 1"), "{response}");
        let response = validated(&json!({"size": 5}), Some(&json!({"size": 1})));
        assert!(response.get("warnings").is_none(), "no warning for scaling up");
    }

    #[test]
    fn an_update_that_does_not_change_an_invalid_spec_is_allowed() {
        let bad = json!({"size": 9});
        assert_eq!(validated(&bad, Some(&bad))["allowed"], true);
    }

    #[test]
    fn a_review_without_a_request_is_denied() {
        let review: Review = serde_json::from_value(json!({})).unwrap();
        assert_eq!(validate(review, "m:1")["response"]["allowed"], false);
    }
}
