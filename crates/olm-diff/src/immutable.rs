//! Changes of objects that the API server rejects when OLM updates the objects in place: fields that are immutable.
//!
//! Source: the update validation of Kubernetes 1.34 (`pkg/apis/*/validation/validation.go`), and how operator-lifecycle-manager
//! updates objects (`pkg/controller/operators/catalog/step_ensurer.go`, `pkg/lib/operatorclient`).

use std::collections::BTreeMap;

use kube_yaml::Quantity;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::schema::same_json;

/// How many characters of a value are shown.
const MAX_SHOWN: usize = 80;

/// A change of an immutable field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ImmutableChange {
    /// The object, such as ``Deployment `gizmo-operator` ``.
    pub object: String,
    /// The field: `spec.selector`.
    pub field: String,
    /// What changed, for people.
    pub detail: String,
    /// How to avoid the change.
    pub help: String,
}

/// The objects of a version that have immutable fields, by group, kind, namespace and name.
pub(crate) type Objects = BTreeMap<(String, String, String, String), Value>;

/// The fields of a kind that can never change, whatever else the object contains.
struct ImmutableKind {
    group: &'static str,
    kind: &'static str,
    /// JSON pointers, each with the value that the API server sets if the field is absent.
    fields: &'static [(&'static str, &'static str)],
}

const KINDS: [ImmutableKind; 13] = [
    ImmutableKind { group: "", kind: "Secret", fields: &[("/type", "\"Opaque\"")] },
    ImmutableKind { group: "", kind: "PersistentVolume", fields: &[("/spec/volumeMode", "\"Filesystem\"")] },
    ImmutableKind { group: "apps", kind: "DaemonSet", fields: &[("/spec/selector", "null")] },
    ImmutableKind { group: "apps", kind: "Deployment", fields: &[("/spec/selector", "null")] },
    ImmutableKind { group: "apps", kind: "ReplicaSet", fields: &[("/spec/selector", "null")] },
    ImmutableKind {
        group: "batch",
        kind: "Job",
        fields: &[
            ("/spec/selector", "null"),
            ("/spec/template", "null"),
            ("/spec/completionMode", "\"NonIndexed\""),
            ("/spec/podFailurePolicy", "null"),
            ("/spec/backoffLimitPerIndex", "null"),
            ("/spec/managedBy", "null"),
            ("/spec/successPolicy", "null"),
        ],
    },
    ImmutableKind {
        group: "networking.k8s.io",
        kind: "IngressClass",
        fields: &[("/spec/controller", "null")],
    },
    ImmutableKind { group: "node.k8s.io", kind: "RuntimeClass", fields: &[("/handler", "null")] },
    ImmutableKind {
        group: "rbac.authorization.k8s.io",
        kind: "ClusterRoleBinding",
        fields: &[("/roleRef", "null")],
    },
    ImmutableKind {
        group: "rbac.authorization.k8s.io",
        kind: "RoleBinding",
        fields: &[("/roleRef", "null")],
    },
    ImmutableKind {
        group: "scheduling.k8s.io",
        kind: "PriorityClass",
        fields: &[("/value", "0"), ("/preemptionPolicy", "\"PreemptLowerPriority\"")],
    },
    ImmutableKind {
        group: "storage.k8s.io",
        kind: "CSIDriver",
        fields: &[("/spec/attachRequired", "true"), ("/spec/volumeLifecycleModes", "[\"Persistent\"]")],
    },
    ImmutableKind {
        group: "storage.k8s.io",
        kind: "StorageClass",
        fields: &[
            ("/parameters", "null"),
            ("/provisioner", "null"),
            ("/reclaimPolicy", "\"Delete\""),
            ("/volumeBindingMode", "\"Immediate\""),
        ],
    },
];

/// The fields of a `StatefulSet`'s spec that can change.
const STATEFUL_SET_MUTABLE: [&str; 7] = [
    "minReadySeconds",
    "ordinals",
    "persistentVolumeClaimRetentionPolicy",
    "replicas",
    "revisionHistoryLimit",
    "template",
    "updateStrategy",
];

/// The fields of a claim's spec that can change; of `resources`, the requests can grow.
const CLAIM_MUTABLE: [&str; 2] = ["resources", "volumeAttributesClassName"];

/// Adds an object to those that are compared.
pub(crate) fn insert(objects: &mut Objects, object: Value) {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let api_version = text("/apiVersion");
    let group = api_version.split_once('/').map_or("", |(group, _)| group).to_owned();
    let key = (group, text("/kind"), text("/metadata/namespace"), text("/metadata/name"));
    if !key.1.is_empty() && !key.3.is_empty() {
        objects.insert(key, object);
    }
}

/// Returns the changes of immutable fields between the objects that two versions have in common, sorted by object.
pub(crate) fn changes(old: &Objects, new: &Objects) -> Vec<ImmutableChange> {
    let mut found = Vec::new();
    for (key, new) in new {
        let Some(old) = old.get(key) else { continue };
        let (group, kind, _, name) = key;
        let mut add = |field: &str, detail: String| {
            found.push(ImmutableChange {
                object: format!("{kind} `{name}`"),
                field: field.trim_start_matches('/').replace('/', "."),
                detail,
                help: format!("keep the field, or give the {kind} a new name"),
            });
        };
        let (old, new) = (normalized(old), normalized(new));
        for ImmutableKind { fields, .. } in
            KINDS.iter().filter(|known| known.group == group && known.kind == kind)
        {
            for (pointer, default) in *fields {
                let default: Value = serde_json::from_str(default).unwrap_or_default();
                let value =
                    |object: &Value| object.pointer(pointer).cloned().unwrap_or_else(|| default.clone());
                compare(pointer, &value(&old), &value(&new), &mut add);
            }
        }
        match (group.as_str(), kind.as_str()) {
            ("", "ConfigMap" | "Secret") if old["immutable"] == true => frozen(&old, &new, &mut add),
            ("", "Service") => service(&old["spec"], &new["spec"], &mut add),
            ("", "PersistentVolumeClaim") => {
                all_but("/spec", &CLAIM_MUTABLE, &old, &new, &mut add);
                shrunk(&old, &new, &mut add);
            }
            ("apps", "StatefulSet") => all_but("/spec", &STATEFUL_SET_MUTABLE, &old, &new, &mut add),
            ("batch", "Job") if old["spec"]["completionMode"] != "Indexed" => {
                compare(
                    "/spec/completions",
                    &old["spec"]["completions"],
                    &new["spec"]["completions"],
                    &mut add,
                );
            }
            _ => {}
        }
    }
    found
}

fn compare(field: &str, old: &Value, new: &Value, add: &mut impl FnMut(&str, String)) {
    if !same_json(old, new) {
        add(field, format!("{} -> {}", shown(old), shown(new)));
    }
}

/// Compares the content of an object whose field `immutable` is set. Values are not shown: they may be secret.
fn frozen(old: &Value, new: &Value, add: &mut impl FnMut(&str, String)) {
    if new["immutable"] != true {
        add("immutable", "true -> false".into());
    }
    for field in ["data", "binaryData", "stringData"] {
        if !same_json(&old[field], &new[field]) {
            add(field, "changed, but `immutable` is set".into());
        }
    }
}

/// Compares two specs of a Service. What the new one does not set is taken from the Service that exists.
fn service(old: &Value, new: &Value, add: &mut impl FnMut(&str, String)) {
    let kind = |spec: &Value| spec["type"].as_str().unwrap_or("ClusterIP").to_owned();
    if kind(old) == "ExternalName" || kind(new) == "ExternalName" {
        return;
    }
    let address =
        |spec: &Value| spec["clusterIP"].as_str().or(spec["clusterIPs"][0].as_str()).map(str::to_owned);
    let (before, after) = (address(old), address(new));
    let is_headless = |address: &Option<String>| address.as_deref() == Some("None");
    if after.is_some() && before != after {
        let name = |address: Option<String>| address.unwrap_or_else(|| "assigned by the cluster".into());
        add("spec.clusterIP", format!("{} -> {}", name(before), name(after)));
    } else if !is_headless(&before) {
        let family = |spec: &Value| spec["ipFamilies"][0].as_str().map(str::to_owned);
        if let (Some(before), Some(after)) = (family(old), family(new))
            && before != after
        {
            add("spec.ipFamilies[0]", format!("{before} -> {after}"));
        }
    }
    if kind(old) == "LoadBalancer" && kind(new) == "LoadBalancer" {
        compare("spec.loadBalancerClass", &old["loadBalancerClass"], &new["loadBalancerClass"], add);
        let port = |spec: &Value| {
            let is_local = spec["externalTrafficPolicy"] == "Local";
            spec["healthCheckNodePort"].as_u64().filter(|_| is_local)
        };
        if let (Some(before), Some(after)) = (port(old), port(new))
            && before != after
        {
            add("spec.healthCheckNodePort", format!("{before} -> {after}"));
        }
    }
}

/// Compares all fields below `pointer`, except for those in `mutable`.
fn all_but(pointer: &str, mutable: &[&str], old: &Value, new: &Value, add: &mut impl FnMut(&str, String)) {
    let empty = Map::new();
    let fields = |object: &Value| -> Map<String, Value> {
        let fields = object.pointer(pointer).and_then(Value::as_object).unwrap_or(&empty);
        fields
            .iter()
            .filter(|(name, _)| !mutable.contains(&name.as_str()))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    };
    let (old, new) = (fields(old), fields(new));
    let names = old.keys().chain(new.keys().filter(|name| !old.contains_key(*name)));
    for name in names {
        let value =
            |fields: &Map<String, Value>| fields.get(name).cloned().unwrap_or_else(|| default_of(name));
        compare(&format!("{pointer}/{name}"), &value(&old), &value(&new), add);
    }
}

/// Returns the value that the API server sets for a field of a `StatefulSet` or a claim.
fn default_of(name: &str) -> Value {
    match name {
        "podManagementPolicy" => json!("OrderedReady"),
        "volumeMode" => json!("Filesystem"),
        _ => Value::Null,
    }
}

/// Reports storage of a claim that is smaller than before.
fn shrunk(old: &Value, new: &Value, add: &mut impl FnMut(&str, String)) {
    let storage = |object: &Value| {
        let text = object.pointer("/spec/resources/requests/storage")?;
        text.as_str().map(str::to_owned).or_else(|| text.is_number().then(|| text.to_string()))
    };
    let (Some(before), Some(after)) = (storage(old), storage(new)) else { return };
    let quantity = |text: &str| Quantity::parse(text);
    if let (Some(from), Some(to)) = (quantity(&before), quantity(&after))
        && to < from
    {
        add("spec.resources.requests.storage", format!("{before} -> {after}"));
    }
}

/// Returns a value without what the API server treats as absent: nulls, empty maps and empty lists.
fn normalized(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let fields = map.iter().map(|(name, value)| (name.clone(), normalized(value)));
            Value::Object(fields.filter(|(_, value)| !is_empty(value)).collect())
        }
        Value::Array(items) => items.iter().map(normalized).collect(),
        other => other.clone(),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// Returns a value for people, shortened.
pub(crate) fn shown(value: &Value) -> String {
    let text = match value {
        Value::Null => return "none".into(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fields that an upgrade of one object changes and may not.
    fn fields(old: Value, new: Value) -> Vec<String> {
        let version = |mut object: Value| {
            object["metadata"] = json!({"name": "a"});
            let mut objects = Objects::new();
            insert(&mut objects, object);
            objects
        };
        changes(&version(old), &version(new)).into_iter().map(|change| change.field).collect()
    }

    #[test]
    fn workload_templates_and_selectors_cannot_change() {
        let object =
            |api: &str, kind: &str, spec: Value| json!({"apiVersion": api, "kind": kind, "spec": spec});
        let selector = |value: &str| json!({"replicas": 1, "selector": {"matchLabels": {"app": value}}});
        for kind in ["DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"] {
            let with = |value| object("apps/v1", kind, selector(value));
            assert_eq!(fields(with("a"), with("b")), ["spec.selector"], "{kind}");
            assert_eq!(fields(with("a"), with("a")), [""; 0], "{kind}");
        }
        let claims = |size: &str| json!({"volumeClaimTemplates": [{"spec": {"resources": {"requests": {"storage": size}}}}]});
        let set = |spec| object("apps/v1", "StatefulSet", spec);
        assert_eq!(fields(set(claims("1Gi")), set(claims("2Gi"))), ["spec.volumeClaimTemplates"]);
        assert_eq!(
            fields(
                set(json!({"podManagementPolicy": "OrderedReady", "replicas": 1})),
                set(json!({"replicas": 3}))
            ),
            [""; 0]
        );
        let job = |image: &str, completions: u32| {
            let template = json!({"spec": {"containers": [{"name": "a", "image": image}]}});
            object("batch/v1", "Job", json!({"template": template, "completions": completions}))
        };
        assert_eq!(fields(job("a", 1), job("b", 2)), ["spec.template", "spec.completions"]);
    }

    #[test]
    fn bindings_and_classes_cannot_change() {
        let binding = |kind: &str, role: &str| json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "roleRef": {"kind": "ClusterRole", "name": role}});
        for kind in ["RoleBinding", "ClusterRoleBinding"] {
            assert_eq!(fields(binding(kind, "view"), binding(kind, "edit")), ["roleRef"]);
        }
        let class = |value: u32, policy: Value| json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": value, "preemptionPolicy": policy});
        assert_eq!(fields(class(1, json!("PreemptLowerPriority")), class(2, Value::Null)), ["value"]);
        assert_eq!(fields(class(1, json!("Never")), class(1, Value::Null)), ["preemptionPolicy"]);
    }

    #[test]
    fn services_keep_what_they_do_not_set() {
        let service = |spec: Value| json!({"apiVersion": "v1", "kind": "Service", "spec": spec});
        let none = || service(json!({"clusterIP": "None"}));
        assert_eq!(fields(service(json!({})), none()), ["spec.clusterIP"]);
        assert_eq!(fields(none(), service(json!({"clusterIP": "10.0.0.1"}))), ["spec.clusterIP"]);
        assert_eq!(fields(none(), service(json!({}))), [""; 0]);
        assert_eq!(
            fields(service(json!({})), service(json!({"type": "ExternalName", "clusterIP": "None"}))),
            [""; 0]
        );
        let family = |family: &str| service(json!({"ipFamilies": [family]}));
        assert_eq!(fields(family("IPv4"), family("IPv6")), ["spec.ipFamilies[0]"]);
        let class = |class: Value| service(json!({"type": "LoadBalancer", "loadBalancerClass": class}));
        assert_eq!(fields(class(json!("a/b")), class(Value::Null)), ["spec.loadBalancerClass"]);
    }

    #[test]
    fn content_that_is_declared_immutable_cannot_change_and_is_not_shown() {
        let object = |kind: &str, immutable: bool, value: &str| json!({"apiVersion": "v1", "kind": kind, "immutable": immutable, "data": {"a": value}});
        for kind in ["ConfigMap", "Secret"] {
            assert_eq!(fields(object(kind, true, "x"), object(kind, false, "y")), ["immutable", "data"]);
            assert_eq!(fields(object(kind, false, "x"), object(kind, true, "y")), [""; 0]);
        }
        let secret = |of_type: Value| json!({"apiVersion": "v1", "kind": "Secret", "type": of_type});
        assert_eq!(fields(secret(Value::Null), secret(json!("kubernetes.io/tls"))), ["type"]);
        assert_eq!(fields(secret(Value::Null), secret(json!("Opaque"))), [""; 0]);
    }

    #[test]
    fn claims_only_grow() {
        let claim = |size: &str, class: &str| {
            let spec = json!({"storageClassName": class, "resources": {"requests": {"storage": size}}});
            json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": spec})
        };
        assert_eq!(fields(claim("1Gi", "a"), claim("2Gi", "a")), [""; 0]);
        assert_eq!(fields(claim("1Gi", "a"), claim("1000Mi", "a")), ["spec.resources.requests.storage"]);
        assert_eq!(fields(claim("1Gi", "a"), claim("1Gi", "b")), ["spec.storageClassName"]);
    }
}
