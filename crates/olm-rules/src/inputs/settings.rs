//! What a user says about the cluster that a bundle is for.

use serde_json::{Map, Value as Json};

use olm_model::kubernetes::Versions;

/// What is known about the cluster that a bundle is for; nothing by default.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// The Kubernetes versions. Without them, those that the bundle claims.
    pub versions: Option<Versions>,
    /// The Dockerfile whose labels limit the versions of OpenShift: `index-path` of operator-sdk's validator `community`.
    pub index_dockerfile: Option<String>,
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
