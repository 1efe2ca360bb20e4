//! The types of Memcached, version v1: the only source of its CRD. Version v1alpha1, the tutorial's, has the same schema.

// kube's printcolumn(…) attributes repeat their keys by design.
#![allow(clippy::duplicated_attributes)]

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use operator_runtime::conditions::Status;
use operator_runtime::crd::Crd;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The default port of memcached.
pub const DEFAULT_PORT: i32 = 11211;

/// Desired state of a Memcached.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "cache.example.com",
    version = "v1",
    kind = "Memcached",
    namespaced,
    doc = "Memcached is a cluster of memcached servers, run by a Deployment.",
    status = "MemcachedStatus",
    derive = "Default",
    derive = "PartialEq",
    scale(
        spec_replicas_path = ".spec.size",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    ),
    printcolumn(name = "Size", type_ = "integer", json_path = ".spec.size"),
    printcolumn(name = "Ready", type_ = "integer", json_path = ".status.readyReplicas"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(
        name = "Available",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Available")].status"#
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Available")].reason"#,
        priority = 1
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct MemcachedSpec {
    /// Number of memcached servers.
    #[schemars(title = "Size", range(min = 1, max = 5))]
    pub size: i32,

    /// Port that the servers listen on.
    #[serde(default = "default_port")]
    #[schemars(title = "Container Port", range(min = 1024, max = 65535))]
    pub container_port: i32,

    /// Image of the memcached servers. Defaults to the operator's configured image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        title = "Image",
        length(min = 1, max = 512),
        extend("x-kubernetes-validations" = [{
            "rule": format!("self.matches(r'{IMAGE_PATTERN}')"),
            "message": "must be an image reference such as registry.example.com/memcached:1.6",
        }])
    )]
    pub image: Option<String>,

    /// Memory limit of each server, in Mi or Gi. Defaults to 96Mi. Two thirds of it are for cached items, the rest is
    /// for connections and the server itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        title = "Memory Limit",
        length(max = 9),
        regex(pattern = r"^[1-9][0-9]{0,6}(Mi|Gi)$"),
        extend("x-kubernetes-validations" = [{
            "rule": "!self.matches('^[1-9][0-9]{0,6}(Mi|Gi)$') || \
                     (self.endsWith('Gi') ? 1024 : 1) * int(self.substring(0, size(self) - 2)) >= 24 && \
                     (self.endsWith('Gi') ? 1024 : 1) * int(self.substring(0, size(self) - 2)) <= 4194304",
            "message": "must be between 24Mi and 4096Gi",
        }])
    )]
    pub memory_limit: Option<String>,

    /// Labels of the nodes that may run the servers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(
        title = "Node Selector",
        extend("maxProperties" = 64),
        extend("additionalProperties" = {
            "type": "string", "maxLength": 63, "pattern": "^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$",
        })
    )]
    pub node_selector: BTreeMap<String, String>,
}

/// The grammar of image references, as in distribution/reference.
const IMAGE_PATTERN: &str = concat!(
    "^((localhost|[A-Za-z0-9-]+([.][A-Za-z0-9-]+)+)(:[0-9]+)?/|[A-Za-z0-9-]+:[0-9]+/)?",
    "[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*",
    "(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[a-f0-9]{64})?$"
);

/// Observed state of a Memcached.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct MemcachedStatus {
    /// Conditions of the cluster: `Available`, `Progressing` and `Degraded`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(title = "Conditions", schema_with = "operator_runtime::conditions::schema")]
    pub conditions: Vec<Condition>,

    /// Names of the pods that run the servers, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(title = "Nodes", extend("x-kubernetes-list-type" = "atomic"))]
    pub nodes: Vec<String>,

    /// Summary of the conditions in one word: `Pending`, `Progressing`, `Available`, `Degraded` or `Finalizing`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(title = "Phase")]
    pub phase: Option<String>,

    /// Number of servers that exist.
    #[serde(default)]
    #[schemars(title = "Replicas")]
    pub replicas: i32,

    /// Number of servers that are ready.
    #[serde(default)]
    #[schemars(title = "Ready Replicas")]
    pub ready_replicas: i32,

    /// Label selector of the servers' pods, for the scale subresource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(title = "Selector")]
    pub selector: Option<String>,

    /// Generation of the spec that this status is based on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(title = "Observed Generation")]
    pub observed_generation: Option<i64>,
}

impl Status for MemcachedStatus {
    fn conditions(&self) -> &[Condition] {
        &self.conditions
    }
    fn conditions_mut(&mut self) -> Option<&mut Vec<Condition>> {
        Some(&mut self.conditions)
    }
}

fn default_port() -> i32 {
    DEFAULT_PORT
}

/// Returns the CRD with both versions.
#[must_use]
pub fn crd() -> Crd {
    Crd::new::<Memcached>().also_served("v1alpha1").named_like_a_service()
}

/// Returns the sample in `config/samples`, which is also the bundle's example.
#[must_use]
pub fn sample() -> Memcached {
    let spec = MemcachedSpec { size: 3, container_port: DEFAULT_PORT, ..MemcachedSpec::default() };
    Memcached::new("memcached-sample", spec)
}
