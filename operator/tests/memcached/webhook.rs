//! The decisions of the webhooks.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use memcached_operator::webhook::memcached::{defaulting, validation};
use operator_runtime::admission::Webhook;
use operator_runtime::testing::{MockApi, admission_review};
use serde_json::{Value, json};

fn review(spec: &Value, old: Option<&Value>) -> Value {
    let object = |spec: &Value| {
        json!({
            "apiVersion": "cache.example.com/v1alpha1", "kind": "Memcached",
            "metadata": {"name": "cache", "namespace": "ns"}, "spec": spec,
        })
    };
    admission_review(&object(spec), old.map(object).as_ref())
}

fn respond(webhook: &Webhook, review: &Value) -> Value {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let review = review.to_string();
    let response = runtime.block_on(async {
        let (_api, client) = MockApi::start();
        webhook.respond(&client, review.as_bytes()).await.unwrap()
    });
    serde_json::from_slice::<Value>(&response).unwrap()["response"].clone()
}

fn validated(spec: &Value, old: Option<&Value>) -> Value {
    respond(&validation(), &review(spec, old))
}

fn patch_of(spec: &Value) -> Value {
    let response = respond(&defaulting(), &review(spec, None));
    assert_eq!(response["allowed"], true);
    match response["patch"].as_str() {
        Some(patch) => serde_json::from_slice(&STANDARD.decode(patch).unwrap()).unwrap(),
        None => Value::Null,
    }
}

#[test]
fn port_0_is_replaced_and_another_one_is_kept() {
    assert_eq!(patch_of(&json!({"size": 1, "containerPort": 0}))[0]["value"], 11211);
    assert_eq!(patch_of(&json!({"size": 1, "containerPort": 12000})), Value::Null);
}

#[test]
fn whitespace_around_an_image_is_trimmed() {
    let patch = patch_of(&json!({"size": 1, "containerPort": 11211, "image": " m:1 "}));
    assert_eq!(patch, json!([{"op": "add", "path": "/spec/image", "value": "m:1"}]));
}

#[test]
fn validation_denies_what_the_controller_rejects_and_names_the_field() {
    for (spec, field) in [
        (json!({"size": 1, "nodeSelector": {"a b": "c"}}), "spec.nodeSelector"),
        (json!({"size": 1, "memoryLimit": "1 GB"}), "spec.memoryLimit"),
        (json!({"size": "x"}), "spec"),
    ] {
        let response = validated(&spec, None);
        assert_eq!(response["allowed"], false, "{spec}");
        assert_eq!(response["uid"], review(&spec, None)["request"]["uid"]);
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
fn update_that_does_not_change_an_invalid_spec_is_allowed() {
    let bad = json!({"size": 1, "nodeSelector": {"a b": "c"}});
    assert_eq!(validated(&bad, Some(&bad))["allowed"], true);
}

#[test]
fn review_without_a_request_is_denied() {
    assert_eq!(respond(&validation(), &json!({}))["allowed"], false);
}
