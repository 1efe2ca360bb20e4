//! What a user says about the cluster that a bundle is for.

use serde_json::{Map, Value as Json};

use crate::model::version::Version;

/// What is known about the cluster that a bundle is for; nothing by default.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// The Kubernetes version. Without it, the versions from `spec.minKubeVersion` on.
    pub kube_version: Option<Version>,
    /// The `ClusterExtension` that installs the bundle.
    pub extension: Option<Extension>,
}

/// What a `ClusterExtension` of OLM v1 sets for its bundle.
#[derive(Debug, Clone, Default)]
pub struct Extension {
    /// `spec.config.inline`
    pub config: Map<String, Json>,
    /// `spec.namespace`, if it is known.
    pub namespace: Option<String>,
}
