//! The `kustomization.yaml` files of `config/`.

use crate::identity::Identity;
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

/// Returns the kustomization of `config/crd`.
pub(crate) fn crds(list: &[String], converted: bool) -> Value {
    let mut kustomization = resources(list);
    if converted {
        kustomization["configurations"] = json!(["kustomizeconfig.yaml"]);
    }
    kustomization
}

/// Returns the fields of CRDs that refer to the Service of the conversion webhook and its namespace.
pub(crate) fn crd_references() -> Value {
    let field = |path: &str, create: bool| {
        let mut field = json!({
            "kind": "CustomResourceDefinition", "version": "v1", "group": "apiextensions.k8s.io", "path": path,
        });
        if create {
            field["create"] = json!(false);
        }
        field
    };
    let service = "spec/conversion/webhook/clientConfig/service";
    json!({
        "nameReference": [{
            "kind": "Service", "version": "v1", "fieldSpecs": [field(&format!("{service}/name"), false)],
        }],
        "namespace": [field(&format!("{service}/namespace"), true)],
    })
}

/// Returns the kustomization of `config/default`, which `make deploy` applies, with prefix and namespace.
pub(crate) fn default(identity: &Identity, with_webhooks: bool) -> Value {
    let mut resources = vec!["../crd", "../rbac", "../manager"];
    if with_webhooks {
        resources.push("../webhook");
    }
    json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "namespace": identity.namespace(),
        "namePrefix": identity.prefixed(""),
        "resources": resources,
    })
}
