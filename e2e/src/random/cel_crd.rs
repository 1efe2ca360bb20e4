//! The CRD that expressions are put into.

use fastrand::Rng;
use serde_json::{Value, json};

use super::template::Step;

/// The way to the schema of `spec`.
pub(crate) fn spec_path() -> Vec<Step> {
    let mut path: Vec<Step> = vec![Step::Key("spec".into()), Step::Key("versions".into()), Step::Index(0)];
    path.extend(["schema", "openAPIV3Schema", "properties", "spec"].map(|key| Step::Key(key.to_owned())));
    path
}

/// A CRD whose `spec` has a field of each type.
pub(crate) fn crd(rng: &mut Rng) -> Value {
    let length = rng.u32(1..40);
    let items = rng.u32(1..6);
    let properties = json!({
        "s": {"type": "string", "maxLength": length},
        "i": {"type": "integer"},
        "n": {"type": "number"},
        "b": {"type": "boolean"},
        "y": {"type": "string", "format": "byte", "maxLength": length},
        "t": {"type": "string", "format": "date-time"},
        "date": {"type": "string", "format": "date"},
        "d": {"type": "string", "format": "duration"},
        "l": {"type": "array", "maxItems": items, "items": {"type": "string", "maxLength": length}},
        "k": {"type": "array", "maxItems": items, "items": {"type": "integer"}},
        "m": {"type": "object", "maxProperties": items, "additionalProperties": {"type": "string", "maxLength": length}},
        "lo": {
            "type": "array", "maxItems": items, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "maxLength": length}, "value": {"type": "integer"}}},
        },
        "la": {"type": "array", "maxItems": items, "items": {"type": "object", "properties": {"name": {"type": "string", "maxLength": length}}}},
        "o": {"type": "object", "properties": {"x": {"type": "string", "maxLength": length}, "y": {"type": "integer"}}},
        "namespace": {"type": "string", "maxLength": length},
        "a-b": {"type": "string", "maxLength": length},
        "x.y": {"type": "string", "maxLength": length},
        "is": {"x-kubernetes-int-or-string": true},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        "embedded": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gizmos.gadgets.example.com"},
        "spec": {
            "group": "gadgets.example.com",
            "scope": "Namespaced",
            "names": {"kind": "Gizmo", "listKind": "GizmoList", "plural": "gizmos", "singular": "gizmo"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object",
                "properties": {"spec": {
                    "type": "object",
                    "properties": properties,
                }},
            }}}],
        },
    })
}
