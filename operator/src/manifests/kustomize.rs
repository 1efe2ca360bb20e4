//! The `kustomization.yaml` files of `config/`.

use super::PREFIX;
use serde_json::{Value, json};

/// Returns a kustomization that only lists resources.
pub(crate) fn resources(list: &[String]) -> Value {
    json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": list,
    })
}

/// Returns the kustomization of `config/webhook`: kustomize does not know by itself that webhooks refer to a Service.
pub(crate) fn webhook(list: &[String]) -> Value {
    let mut kustomization = resources(list);
    kustomization["configurations"] = json!(["kustomizeconfig.yaml"]);
    kustomization
}

/// Returns the fields of webhook configurations that refer to the Service and its namespace.
pub(crate) fn webhook_references() -> Value {
    let kinds = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];
    let fields = |path: &str| {
        kinds.map(|kind| json!({ "kind": kind, "group": "admissionregistration.k8s.io", "path": path }))
    };
    let namespaces = kinds.map(|kind| {
        json!({
            "kind": kind,
            "group": "admissionregistration.k8s.io",
            "path": "webhooks/clientConfig/service/namespace",
            "create": true,
        })
    });
    json!({
        "nameReference": [{ "kind": "Service", "version": "v1", "fieldSpecs": fields("webhooks/clientConfig/service/name") }],
        "namespace": namespaces,
    })
}

/// Returns the kustomization of `config/default`, which `make deploy` applies, with prefix and namespace.
pub(crate) fn default() -> Value {
    json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "namespace": format!("{PREFIX}system"),
        "namePrefix": PREFIX,
        "resources": ["../crd", "../rbac", "../manager", "../webhook"],
    })
}
