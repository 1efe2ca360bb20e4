//! The objects of OLM v1: a catalog, and what is installed from it.

use serde_json::{Map, Value, json};

use crate::diagnose::v1::CATALOG_NAME;

/// The API that operator-controller and catalogd serve.
pub const API: &str = "/apis/olm.operatorframework.io/v1";

/// A `ClusterCatalog`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterCatalog {
    /// The name.
    pub name: String,
    /// The catalog image.
    pub image: String,
    /// The minutes between two looks for another image behind the same tag; none for a digest.
    pub poll_minutes: Option<u64>,
    /// The priority among catalogs.
    pub priority: i64,
}

impl ClusterCatalog {
    /// Returns the object.
    #[must_use]
    pub fn object(&self) -> Value {
        let mut image = json!({"ref": self.image});
        // The API server rejects the field beside a digest.
        if let Some(minutes) = self.poll_minutes.filter(|_| !self.image.contains('@')) {
            image["pollIntervalMinutes"] = minutes.max(1).into();
        }
        let mut object = json!({
            "apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterCatalog",
            "metadata": {"name": self.name},
            "spec": {"source": {"type": "Image", "image": image}},
        });
        if self.priority != 0 {
            object["spec"]["priority"] = self.priority.into();
        }
        object
    }
}

/// A `ClusterExtension`.
///
/// `spec.serviceAccount` is not set: operator-controller 1.11 ignores it and uses its own.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClusterExtension {
    /// The name.
    pub name: String,
    /// The namespace of the operator's own objects.
    pub namespace: String,
    /// The package.
    pub package: String,
    /// The channel; any without one.
    pub channel: String,
    /// The version; the newest without one.
    pub version: String,
    /// The `ClusterCatalog`; any without one.
    pub catalog: String,
    /// `spec.config.inline`.
    pub config: Map<String, Value>,
    /// Whether CRDs are upgraded without the check of OLM v1.
    pub without_crd_safety: bool,
}

impl ClusterExtension {
    /// Returns the object.
    #[must_use]
    pub fn object(&self) -> Value {
        let mut source = json!({"packageName": self.package});
        if !self.channel.is_empty() {
            source["channels"] = json!([self.channel]);
        }
        if !self.version.is_empty() {
            source["version"] = self.version.clone().into();
        }
        if !self.catalog.is_empty() {
            source["selector"] = json!({"matchLabels": {CATALOG_NAME: self.catalog}});
        }
        let mut object = json!({
            "apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterExtension",
            "metadata": {"name": self.name},
            "spec": {
                "namespace": self.namespace,
                "source": {"sourceType": "Catalog", "catalog": source},
            },
        });
        if !self.config.is_empty() {
            object["spec"]["config"] = json!({"configType": "Inline", "inline": self.config});
        }
        if self.without_crd_safety {
            object["spec"]["install"] = json!({"preflight": {"crdUpgradeSafety": {"enforcement": "None"}}});
        }
        object
    }
}

/// Returns a namespace.
#[must_use]
pub fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}
