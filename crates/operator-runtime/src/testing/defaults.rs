//! The defaults of structural schemas, as the API server's admission sets them in objects of CRDs.

use crate::crd::Crd;
use serde_json::Value;
use std::collections::BTreeMap;

/// What the API server knows of a version of a kind.
#[derive(Clone, Debug)]
struct Version {
    schema: Value,
    /// The path of the number of replicas, such as `.spec.replicas`.
    replicas: Option<String>,
}

/// The versions of a kind by name; the stored one is also at the empty string.
#[derive(Clone, Debug)]
pub(crate) struct Schemas(BTreeMap<String, Version>);

impl Schemas {
    pub(crate) fn new(crd: &Crd) -> Self {
        let definition = crd.build().expect("the CRD can be generated");
        let mut versions = BTreeMap::new();
        for version in definition.spec.versions {
            let schema = version.schema.and_then(|schema| schema.open_api_v3_schema);
            let scale = version.subresources.and_then(|subresources| subresources.scale);
            let found = Version {
                schema: serde_json::to_value(schema).expect("the schema is JSON"),
                replicas: scale.map(|scale| scale.spec_replicas_path),
            };
            if version.storage {
                versions.insert(String::new(), found.clone());
            }
            versions.insert(version.name, found);
        }
        Self(versions)
    }

    fn version(&self, object: &Value) -> Option<&Version> {
        let version = object["apiVersion"].as_str().and_then(|of| of.split_once('/'));
        self.0.get(version.map(|(_, version)| version).unwrap_or_default())
    }

    /// Sets the defaults of the schema of the object's version.
    pub(crate) fn complete(&self, object: &mut Value) {
        if let Some(Version { schema, .. }) = self.version(object) {
            complete(object, schema);
        }
    }

    /// Returns the path of the number of replicas of an object; `None` if it cannot be scaled.
    pub(crate) fn replicas(&self, object: &Value) -> Option<&str> {
        self.version(object)?.replicas.as_deref()
    }
}

/// Sets the defaults of a value. A null counts as unset unless the schema has `nullable`.
fn complete(value: &mut Value, schema: &Value) {
    match value {
        Value::Object(map) => {
            let properties = schema["properties"].as_object();
            let others = &schema["additionalProperties"];
            map.retain(|key, value| {
                let schema = properties.and_then(|properties| properties.get(key)).unwrap_or(others);
                !value.is_null() || !schema.is_object() || schema["nullable"] == true || has_default(schema)
            });
            for (key, schema) in properties.into_iter().flatten().filter(|(_, schema)| has_default(schema)) {
                let unset = map.get(key).is_none_or(|value| value.is_null() && schema["nullable"] != true);
                if unset {
                    map.insert(key.clone(), schema["default"].clone());
                }
            }
            for (key, value) in map {
                let schema = properties.and_then(|properties| properties.get(key)).unwrap_or(others);
                complete_item(value, schema);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|value| complete_item(value, &schema["items"])),
        _ => {}
    }
}

fn complete_item(value: &mut Value, schema: &Value) {
    if value.is_null() && schema["nullable"] != true && has_default(schema) {
        *value = schema["default"].clone();
    }
    complete(value, schema);
}

fn has_default(schema: &Value) -> bool {
    schema.get("default").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn defaults_are_set_as_the_api_server_does() {
        let number = || json!({"type": "integer", "default": 1});
        let schema = json!({"properties": {"spec": {"properties": {
            "size": number(),
            "null": {"type": "integer", "nullable": true, "default": 1},
            "pruned": {"type": "string"},
            "on": {"default": {}, "properties": {"port": {"default": 80}}},
            "off": {"properties": {"port": {"default": 80}}},
            "list": {"items": {"properties": {"size": number()}}},
            "map": {"additionalProperties": {"properties": {"size": number()}}},
            "numbers": {"additionalProperties": number()},
            "free": {"x-kubernetes-preserve-unknown-fields": true},
        }}}});
        let mut object = json!({"spec": {
            "null": null, "pruned": null, "list": [{}, {"size": 2}], "map": {"a": {}}, "numbers": {"a": null, "b": 2},
            "free": {"a": null},
        }});
        complete(&mut object, &schema);
        let expected = json!({"spec": {
            "size": 1, "null": null, "on": {"port": 80}, "list": [{"size": 1}, {"size": 2}],
            "map": {"a": {"size": 1}}, "numbers": {"a": 1, "b": 2}, "free": {"a": null},
        }});
        assert_eq!(object, expected);
        let before = object.clone();
        complete(&mut object, &schema);
        assert_eq!(object, before);
        let mut empty = json!({"metadata": {"name": "a"}});
        complete(&mut empty, &schema);
        assert_eq!(empty, json!({"metadata": {"name": "a"}}), "what is not there has no defaults in it");
    }
}
