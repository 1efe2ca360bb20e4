//! The Memcached API: group `cache.example.com`, versions `v1alpha1` and `v1` with one schema, `v1` stored.
//!
//! The types here are the only source of the CRD: `memcached-operator manifests` writes [`crd`] to `config/crd/bases`.
//! The controller uses the stored version; the API server converts by changing `apiVersion` only (strategy `None`).

// kube's printcolumn(…) attributes repeat their keys by design.
#![allow(clippy::duplicated_attributes)]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use operator_runtime::crd::Crd;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The API group of Memcached.
pub const GROUP: &str = "cache.example.com";
/// The tutorial's version, served with the same schema.
pub const OLD_VERSION: &str = "v1alpha1";
/// The smallest number of servers.
pub const MIN_SIZE: i32 = 1;
/// The largest number of servers.
pub const MAX_SIZE: i32 = 5;
/// The lowest port that a server without privileges can listen on.
pub const MIN_PORT: i32 = 1024;
/// The highest TCP port.
pub const MAX_PORT: i32 = 65535;
/// The default port of memcached.
pub const DEFAULT_PORT: i32 = 11211;

/// Desired state of a Memcached.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq, Eq)]
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
    printcolumn(
        name = "Size",
        type_ = "integer",
        json_path = ".spec.size",
        description = "Desired number of servers"
    ),
    printcolumn(
        name = "Ready",
        type_ = "integer",
        json_path = ".status.readyReplicas",
        description = "Number of ready servers"
    ),
    printcolumn(
        name = "Phase",
        type_ = "string",
        json_path = ".status.phase",
        description = "Summary of the conditions"
    ),
    printcolumn(
        name = "Available",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Available")].status"#,
        description = "Whether all servers are available"
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Available")].reason"#,
        description = "Reason of the Available condition",
        priority = 1
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp",
        description = "Time since creation"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct MemcachedSpec {
    /// Number of memcached servers.
    #[schemars(title = "Size", range(min = MIN_SIZE, max = MAX_SIZE))]
    pub size: i32,

    /// Port that the servers listen on.
    #[serde(default = "default_port")]
    #[schemars(title = "Container Port", range(min = MIN_PORT, max = MAX_PORT))]
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

/// The grammar of image references, as in distribution/reference; the controller checks it in more detail.
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

operator_runtime::conditioned!(MemcachedStatus);

fn default_port() -> i32 {
    DEFAULT_PORT
}

/// Returns the CRD with both versions.
#[must_use]
pub fn crd() -> Crd {
    Crd::of::<Memcached>().also_served(OLD_VERSION).rule(
        "size(self.metadata.name) <= 63 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
        "metadata.name must be a valid name of a Service: at most 63 lower-case letters, digits or '-', \
         starting with a letter and ending with a letter or digit",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn both_versions_share_one_schema_and_only_v1_is_stored() {
        let versions = crd().build().unwrap().spec.versions;
        assert_eq!(versions.iter().map(|v| v.name.as_str()).collect::<Vec<_>>(), ["v1", "v1alpha1"]);
        assert_eq!(versions.iter().map(|v| v.storage).collect::<Vec<_>>(), [true, false]);
        assert!(versions.iter().all(|v| v.served));
        assert_eq!(versions[0].schema, versions[1].schema);
    }

    #[test]
    fn empty_name_lists_are_removed() {
        let text = serde_json::to_string(&crd().build().unwrap()).unwrap();
        assert!(!text.contains("categories") && !text.contains("shortNames"), "{text}");
    }

    #[test]
    fn the_port_has_a_default_and_the_size_has_bounds() {
        let crd = serde_json::to_value(crd().build().unwrap()).unwrap();
        let spec = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
        assert_eq!(spec["properties"]["containerPort"]["default"], 11211);
        assert_eq!(spec["properties"]["size"]["minimum"].as_f64(), Some(f64::from(MIN_SIZE)));
        assert_eq!(spec["properties"]["size"]["maximum"].as_f64(), Some(f64::from(MAX_SIZE)));
        assert_eq!(spec["required"], serde_json::json!(["size"]));
    }

    fn schema() -> Value {
        let crd = serde_json::to_value(crd().build().unwrap()).unwrap();
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
    }

    #[test]
    fn nothing_is_nullable_and_the_status_has_no_defaults() {
        let schema = schema();
        assert!(!schema.to_string().contains("\"nullable\""));
        assert!(!schema["properties"]["status"].to_string().contains("\"default\""));
    }

    #[test]
    fn conditions_have_the_limits_of_the_api_conventions() {
        let conditions = &schema()["properties"]["status"]["properties"]["conditions"];
        assert_eq!(conditions["x-kubernetes-list-map-keys"], json!(["type"]));
        let fields = &conditions["items"]["properties"];
        assert_eq!(fields["status"]["enum"], json!(["True", "False", "Unknown"]));
        assert_eq!((&fields["type"]["maxLength"], &fields["reason"]["minLength"]), (&json!(316), &json!(1)));
        assert_eq!(
            (&fields["reason"]["maxLength"], &fields["message"]["maxLength"]),
            (&json!(1024), &json!(32768))
        );
    }

    #[test]
    fn the_schema_rejects_what_the_controller_rejects() {
        let schema = schema();
        let spec = &schema["properties"]["spec"]["properties"];
        assert_eq!(spec["containerPort"]["minimum"].as_f64(), Some(f64::from(MIN_PORT)));
        assert_eq!(spec["nodeSelector"]["additionalProperties"]["maxLength"], 63);
        for (place, word) in
            [(&schema, "metadata.name"), (&spec["image"], "sha256"), (&spec["memoryLimit"], "4194304")]
        {
            let rule = &place["x-kubernetes-validations"][0];
            assert!(rule["rule"].as_str().unwrap().contains(word), "{place}");
            assert!(rule["message"].as_str().unwrap().contains("must be"), "{place}");
        }
    }
}
