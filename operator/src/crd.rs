//! The Memcached API: group `cache.example.com`, versions `v1alpha1` and `v1` with one schema, `v1` stored.
//!
//! The types here are the only source of the CRD: `memcached-operator manifests` writes [`crd`] into
//! `config/crd/bases`. The controller works with the stored version; the API server serves the other one
//! unchanged (conversion strategy `None`).

// kube's printcolumn(…) attributes repeat their keys by design.
#![allow(clippy::duplicated_attributes)]

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, CustomResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The API group of Memcached.
pub const GROUP: &str = "cache.example.com";
/// The version that is stored and that the controller speaks.
pub const STORED_VERSION: &str = "v1";
/// The tutorial's version, served with the same schema.
pub const OLD_VERSION: &str = "v1alpha1";
/// The fewest replicas that the schema allows.
pub const MIN_SIZE: i32 = 1;
/// The most replicas that the schema allows.
pub const MAX_SIZE: i32 = 5;
/// The port that memcached listens on unless the spec says otherwise.
pub const DEFAULT_PORT: i32 = 11211;

/// What a user asks of a memcached cluster.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq, Eq)]
#[kube(
    group = "cache.example.com",
    version = "v1",
    kind = "Memcached",
    namespaced,
    doc = "A memcached cluster: a Deployment of memcached servers that the operator keeps in step.",
    status = "MemcachedStatus",
    derive = "Default",
    derive = "PartialEq",
    scale(
        spec_replicas_path = ".spec.size",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    ),
    printcolumn(name = "Size", type_ = "integer", json_path = ".spec.size", description = "Replicas wanted"),
    printcolumn(
        name = "Nodes",
        type_ = "integer",
        json_path = ".status.replicas",
        description = "Replicas that exist"
    ),
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
    /// Number of memcached servers, 1 to 5.
    #[schemars(title = "Size", range(min = 1, max = 5))]
    pub size: i32,

    /// Port that the servers listen on.
    #[serde(default = "default_port")]
    #[schemars(title = "Container Port", range(min = 1, max = 65535))]
    pub container_port: i32,

    /// Image of the memcached servers; the operator's own choice when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(title = "Image", length(min = 1, max = 512))]
    pub image: Option<String>,

    /// Memory limit of a server's container, 96Mi when left out. Two thirds of it hold cached items; the rest is for
    /// connections and the program itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(title = "Memory Limit", regex(pattern = r"^[1-9][0-9]{0,6}(Mi|Gi)$"))]
    pub memory_limit: Option<String>,

    /// Labels a node must carry to run a server.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(title = "Node Selector")]
    pub node_selector: BTreeMap<String, String>,
}

/// What the operator saw of a memcached cluster.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct MemcachedStatus {
    /// What is known of the cluster: `Available`, `Progressing` and `Degraded`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        title = "Conditions",
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"])
    )]
    pub conditions: Vec<Condition>,

    /// Names of the pods that run the servers, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(title = "Nodes", extend("x-kubernetes-list-type" = "set"))]
    pub nodes: Vec<String>,

    /// One word for people: `Pending`, `Progressing`, `Available`, `Degraded` or `Finalizing`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(title = "Phase")]
    pub phase: Option<String>,

    /// Number of servers that exist, for the scale subresource.
    #[serde(default)]
    #[schemars(title = "Replicas")]
    pub replicas: i32,

    /// Label selector of the servers' pods in its string form, for the scale subresource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(title = "Selector")]
    pub selector: Option<String>,

    /// The generation of the spec that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(title = "Observed Generation")]
    pub observed_generation: Option<i64>,
}

fn default_port() -> i32 {
    DEFAULT_PORT
}

/// The `CustomResourceDefinition` with both versions, ready to be applied.
///
/// kube's derive writes empty `categories` and `shortNames` (kube-rs/kube#1680), which no API server keeps;
/// they are pruned here so that what is written equals what is read back.
#[must_use]
pub fn crd() -> CustomResourceDefinition {
    let mut crd = Memcached::crd();
    let names = &mut crd.spec.names;
    names.list_kind = Some(format!("{}List", names.kind));
    names.categories = names.categories.take().filter(|list| !list.is_empty());
    names.short_names = names.short_names.take().filter(|list| !list.is_empty());
    for version in &mut crd.spec.versions {
        version.selectable_fields = version.selectable_fields.take().filter(|list| !list.is_empty());
    }
    let older = crd.spec.versions.first().cloned().map(|mut version| {
        OLD_VERSION.clone_into(&mut version.name);
        version.storage = false;
        version
    });
    crd.spec.versions.extend(older);
    crd
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_share_one_schema_and_only_v1_is_stored() {
        let versions = crd().spec.versions;
        assert_eq!(versions.iter().map(|v| v.name.as_str()).collect::<Vec<_>>(), ["v1", "v1alpha1"]);
        assert_eq!(versions.iter().map(|v| v.storage).collect::<Vec<_>>(), [true, false]);
        assert!(versions.iter().all(|v| v.served));
        assert_eq!(versions[0].schema, versions[1].schema);
    }

    #[test]
    fn empty_name_lists_are_pruned() {
        let text = serde_json::to_string(&crd()).unwrap();
        assert!(!text.contains("categories") && !text.contains("shortNames"), "{text}");
    }

    #[test]
    fn the_port_has_a_default_and_the_size_bounds() {
        let crd = serde_json::to_value(crd()).unwrap();
        let spec = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
        assert_eq!(spec["properties"]["containerPort"]["default"], 11211);
        assert_eq!(spec["properties"]["size"]["minimum"].as_f64(), Some(f64::from(MIN_SIZE)));
        assert_eq!(spec["properties"]["size"]["maximum"].as_f64(), Some(f64::from(MAX_SIZE)));
        assert_eq!(spec["required"], serde_json::json!(["size"]));
    }
}
