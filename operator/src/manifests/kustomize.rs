//! The `kustomization.yaml` files of `config/`.

use super::PREFIX;
use serde_json::{Value, json};

/// A kustomization that only lists resources.
pub(crate) fn resources(list: &[String]) -> Value {
    json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": list,
    })
}

/// `config/default`: what `make deploy` applies, with prefix and namespace.
pub(crate) fn default() -> Value {
    json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "namespace": format!("{PREFIX}system"),
        "namePrefix": PREFIX,
        "resources": ["../crd", "../rbac", "../manager"],
    })
}
