//! The decisions of the admission webhooks.
//!
//! The CRD's schema has the defaults and most of the validation; the webhooks demonstrate the rest. The defaulter trims
//! the image, which comes before the schema's validation. The validator rejects what the schema cannot, such as malformed
//! label keys, and warns of changes with side effects. Updates that do not change the spec are always allowed: finalizers
//! and labels of an object that was stored earlier can be changed.

use crate::api::{DEFAULT_PORT, Memcached};
use crate::controller::check;
use operator_runtime::admission::{Decision, Request, Webhook};
use serde_json::Value;

/// Returns the defaulting webhook.
#[must_use]
pub fn defaulting() -> Webhook {
    Webhook::defaulting::<Memcached>(|request| {
        let mut decision = Decision::allowed();
        let Some(spec) = request.object["spec"].as_object() else { return decision };
        if spec.get("containerPort").is_none_or(|port| port.is_null() || *port == 0) {
            decision = decision.set("/spec/containerPort", DEFAULT_PORT);
        }
        let image = spec.get("image").and_then(Value::as_str).unwrap_or_default();
        match image.trim() {
            trimmed if trimmed == image => decision,
            "" => decision.remove("/spec/image"),
            trimmed => decision.set("/spec/image", trimmed),
        }
    })
}

/// Returns the validating webhook; `operand_image` is used unless a Memcached sets an image.
#[must_use]
pub fn validating(operand_image: String) -> Webhook {
    Webhook::validating::<Memcached>(move |request| {
        validate(request, &operand_image).unwrap_or_else(Decision::denied)
    })
}

fn validate(request: &Request, operand_image: &str) -> Result<Decision, String> {
    if request.keeps_spec() {
        return Ok(Decision::allowed());
    }
    let memcached = request.parse::<Memcached>()?;
    check(&memcached, operand_image)?;
    let warnings = warnings(&memcached, &request.old_object);
    Ok(warnings.into_iter().fold(Decision::allowed(), Decision::warn))
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

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::json;

    fn review(spec: &Value, old: Option<&Value>) -> Value {
        let object = |spec: &Value| {
            json!({
                "apiVersion": "cache.example.com/v1alpha1", "kind": "Memcached",
                "metadata": {"name": "cache", "namespace": "ns"}, "spec": spec,
            })
        };
        let old = old.map(object).unwrap_or_default();
        json!({"request": {"uid": "7", "object": object(spec), "oldObject": old}})
    }

    fn validated(spec: &Value, old: Option<&Value>) -> Value {
        validating("m:1".to_owned()).respond(review(spec, old))["response"].clone()
    }

    fn patch_of(spec: &Value) -> Value {
        let response = defaulting().respond(review(spec, None))["response"].clone();
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
        assert_eq!(patch, json!([{"op": "add", "path": "/spec/image", "value": "m:1"}]));
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
        assert_eq!(validating("m:1".to_owned()).respond(json!({}))["response"]["allowed"], false);
    }
}
