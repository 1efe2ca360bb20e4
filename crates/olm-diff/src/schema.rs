//! Schemas of two versions, field by field: which paths they have, and which fields of a schema differ.
//!
//! A schema is compared as its Go type is: unknown fields do not exist, empty strings, lists and maps are the same as
//! absent ones. Source: `JSONSchemaProps` (`apiextensions-apiserver/pkg/apis/apiextensions/v1/types_jsonschema.go`) and
//! `equality.Semantic` of apimachinery.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

/// How deep schemas are followed; the API server's own limits are far below.
const MAX_DEPTH: usize = 512;

/// What a field of a schema holds, which decides when it counts as absent and when two of them are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// A string; empty is absent.
    String,
    /// A pointer to a string, boolean or number; only null is absent.
    Scalar,
    /// A boolean; false is absent.
    Flag,
    /// Any JSON; null is absent.
    Json,
    /// A list or map without schemas in it; empty is absent.
    Plain,
    /// One schema.
    Schema,
    /// A schema or a list of them.
    SchemaOrList,
    /// A schema or a boolean.
    SchemaOrBoolean,
    /// A list of schemas; empty is absent.
    SchemaList,
    /// A map of schemas; empty is absent.
    SchemaMap,
    /// A map of schemas or lists of strings; empty is absent.
    Dependencies,
}

/// Every field of `JSONSchemaProps`, sorted.
const FIELDS: &[(&str, Shape)] = &[
    ("$ref", Shape::Scalar),
    ("$schema", Shape::String),
    ("additionalItems", Shape::SchemaOrBoolean),
    ("additionalProperties", Shape::SchemaOrBoolean),
    ("allOf", Shape::SchemaList),
    ("anyOf", Shape::SchemaList),
    ("default", Shape::Json),
    ("definitions", Shape::SchemaMap),
    ("dependencies", Shape::Dependencies),
    ("description", Shape::String),
    ("enum", Shape::Plain),
    ("example", Shape::Json),
    ("exclusiveMaximum", Shape::Flag),
    ("exclusiveMinimum", Shape::Flag),
    ("externalDocs", Shape::Json),
    ("format", Shape::String),
    ("id", Shape::String),
    ("items", Shape::SchemaOrList),
    ("maxItems", Shape::Scalar),
    ("maxLength", Shape::Scalar),
    ("maxProperties", Shape::Scalar),
    ("maximum", Shape::Scalar),
    ("minItems", Shape::Scalar),
    ("minLength", Shape::Scalar),
    ("minProperties", Shape::Scalar),
    ("minimum", Shape::Scalar),
    ("multipleOf", Shape::Scalar),
    ("not", Shape::Schema),
    ("nullable", Shape::Flag),
    ("oneOf", Shape::SchemaList),
    ("pattern", Shape::String),
    ("patternProperties", Shape::SchemaMap),
    ("properties", Shape::SchemaMap),
    ("required", Shape::Plain),
    ("title", Shape::String),
    ("type", Shape::String),
    ("uniqueItems", Shape::Flag),
    ("x-kubernetes-embedded-resource", Shape::Flag),
    ("x-kubernetes-int-or-string", Shape::Flag),
    ("x-kubernetes-list-map-keys", Shape::Plain),
    ("x-kubernetes-list-type", Shape::Scalar),
    ("x-kubernetes-map-type", Shape::Scalar),
    ("x-kubernetes-preserve-unknown-fields", Shape::Scalar),
    ("x-kubernetes-validations", Shape::Plain),
];

/// One schema; absent ones are empty.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schema<'s>(Option<&'s Map<String, Value>>);

impl<'s> Schema<'s> {
    /// The schema without any field.
    pub(crate) const EMPTY: Self = Self(None);

    /// The schema that a value is, the empty one if it is no map.
    pub(crate) fn new(value: &'s Value) -> Self {
        Self(value.as_object())
    }

    /// A field's value, unless it counts as absent.
    fn field(self, name: &str, shape: Shape) -> Option<&'s Value> {
        let value = self.0?.get(name)?;
        let absent = match shape {
            Shape::String => value.as_str().is_none_or(str::is_empty),
            Shape::Flag => value.as_bool() != Some(true),
            Shape::Plain | Shape::SchemaList | Shape::SchemaMap | Shape::Dependencies => match value {
                Value::Array(items) => items.is_empty(),
                Value::Object(map) => map.is_empty(),
                _ => true,
            },
            Shape::Scalar | Shape::Json | Shape::Schema | Shape::SchemaOrList | Shape::SchemaOrBoolean => {
                value.is_null()
            }
        };
        (!absent).then_some(value)
    }

    /// A string field, empty if it is absent.
    pub(crate) fn string(self, name: &str) -> &'s str {
        self.0.and_then(|map| map.get(name)).and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether a flag is set.
    pub(crate) fn flag(self, name: &str) -> bool {
        self.field(name, Shape::Flag).is_some()
    }

    /// A field with any value, unless it is absent or null.
    pub(crate) fn value(self, name: &str) -> Option<&'s Value> {
        self.field(name, Shape::Scalar)
    }

    /// The items of a list, none if it is absent.
    pub(crate) fn list(self, name: &str) -> &'s [Value] {
        self.0.and_then(|map| map.get(name)).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// The names of the fields that differ, sorted, except for those in `ignored` (sorted as well).
    pub(crate) fn differences(self, other: Self, ignored: &[&str]) -> Vec<&'static str> {
        FIELDS
            .iter()
            .filter(|(name, _)| ignored.binary_search(name).is_err())
            .filter(|(name, shape)| {
                !same(*shape, self.field(name, *shape), other.field(name, *shape), MAX_DEPTH)
            })
            .map(|(name, _)| *name)
            .collect()
    }
}

/// A schema as one string, the same for all schemas that are equal, without the fields in `ignored`.
pub(crate) fn canonical(schema: &Value, ignored: &[&str]) -> String {
    normalized(schema, ignored, MAX_DEPTH).to_string()
}

fn normalized(schema: &Value, ignored: &[&str], depth: usize) -> Value {
    let Some(depth) = depth.checked_sub(1) else { return schema.clone() };
    let schema = Schema::new(schema);
    let fields = FIELDS.iter().filter(|(name, _)| !ignored.contains(name)).filter_map(|(name, shape)| {
        let value = schema.field(name, *shape)?;
        let nested = |value: &Value| match value {
            Value::Object(_) => normalized(value, &[], depth),
            other => other.clone(),
        };
        let value = match (shape, value) {
            (Shape::String | Shape::Flag | Shape::Scalar | Shape::Json | Shape::Plain, value) => {
                value.clone()
            }
            (Shape::SchemaMap | Shape::Dependencies, Value::Object(map)) => {
                // Sorted, as the order of a map's keys means nothing.
                let sorted: BTreeMap<_, _> =
                    map.iter().map(|(name, schema)| (name, nested(schema))).collect();
                sorted.into_iter().map(|(name, schema)| (name.clone(), schema)).collect()
            }
            (_, Value::Array(items)) => items.iter().map(nested).collect(),
            (_, value) => nested(value),
        };
        Some(((*name).to_owned(), value))
    });
    Value::Object(fields.collect())
}

/// Whether two fields are equal as the Go values that they decode into.
fn same(shape: Shape, old: Option<&Value>, new: Option<&Value>, depth: usize) -> bool {
    let (Some(old), Some(new)) = (old, new) else { return old.is_none() && new.is_none() };
    let Some(depth) = depth.checked_sub(1) else { return old == new };
    match shape {
        Shape::String | Shape::Flag => old == new,
        Shape::Scalar | Shape::Json | Shape::Plain => same_json(old, new),
        Shape::Schema => same_schema(old, new, depth),
        Shape::SchemaOrList | Shape::SchemaOrBoolean | Shape::Dependencies
            if old.is_array() || new.is_array() =>
        {
            same_lists(old, new, depth)
        }
        Shape::SchemaOrList | Shape::SchemaOrBoolean => match (old, new) {
            (Value::Object(_), Value::Object(_)) => same_schema(old, new, depth),
            _ => old == new,
        },
        Shape::SchemaList => same_lists(old, new, depth),
        Shape::SchemaMap | Shape::Dependencies => match (old.as_object(), new.as_object()) {
            (Some(old), Some(new)) => {
                old.len() == new.len()
                    && old.iter().all(|(name, schema)| {
                        new.get(name).is_some_and(|other| match (schema, other) {
                            (Value::Array(_), Value::Array(_)) => same_json(schema, other),
                            _ => same_schema(schema, other, depth),
                        })
                    })
            }
            _ => old == new,
        },
    }
}

fn same_lists(old: &Value, new: &Value, depth: usize) -> bool {
    match (old.as_array(), new.as_array()) {
        (Some(old), Some(new)) => {
            old.len() == new.len() && old.iter().zip(new).all(|(old, new)| same_schema(old, new, depth))
        }
        _ => false,
    }
}

fn same_schema(old: &Value, new: &Value, depth: usize) -> bool {
    let (old, new) = (Schema::new(old), Schema::new(new));
    FIELDS.iter().all(|(name, shape)| same(*shape, old.field(name, *shape), new.field(name, *shape), depth))
}

/// JSON with numbers compared by value: `1` and `1.0` are the same to the API server.
pub(crate) fn same_json(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Number(old), Value::Number(new)) => old == new || old.as_f64() == new.as_f64(),
        (Value::Array(old), Value::Array(new)) => {
            old.len() == new.len() && old.iter().zip(new).all(|(old, new)| same_json(old, new))
        }
        (Value::Object(old), Value::Object(new)) => {
            old.len() == new.len()
                && old.iter().all(|(key, value)| new.get(key).is_some_and(|other| same_json(value, other)))
        }
        _ => old == new,
    }
}

/// The schemas of a version by path: `^` is the root, `^.spec.sizes.items` the items of a list.
///
/// Where two schemas have one path (a property named `items`), the later in upstream's order counts.
/// Source: `SchemaHas` of crdify (`pkg/validations/util.go`).
pub(crate) fn flatten(root: &Value) -> HashMap<String, Schema<'_>> {
    let mut found = HashMap::new();
    visit(root, "^".to_owned(), MAX_DEPTH, &mut found);
    found
}

fn visit<'s>(schema: &'s Value, path: String, depth: usize, found: &mut HashMap<String, Schema<'s>>) {
    let (Some(map), Some(depth)) = (schema.as_object(), depth.checked_sub(1)) else { return };
    let children = |name: &str| map.get(name).and_then(Value::as_object).into_iter().flatten();
    match map.get("items") {
        Some(Value::Array(items)) => each_indexed(items, &format!("{path}.items"), depth, found),
        Some(items) => visit(items, format!("{path}.items"), depth, found),
        None => {}
    }
    for name in ["allOf", "anyOf", "oneOf"] {
        if let Some(Value::Array(items)) = map.get(name) {
            each_indexed(items, &format!("{path}.{name}"), depth, found);
        }
    }
    if let Some(not) = map.get("not") {
        visit(not, format!("{path}.not"), depth, found);
    }
    for (name, schema) in children("properties") {
        visit(schema, format!("{path}.{name}"), depth, found);
    }
    if let Some(values) = map.get("additionalProperties") {
        visit(values, format!("{path}.additionalProperties"), depth, found);
    }
    for (name, schema) in children("patternProperties") {
        visit(schema, format!("{path}.patternProperties[{name}]"), depth, found);
    }
    if let Some(items) = map.get("additionalItems") {
        visit(items, format!("{path}.additionalItems"), depth, found);
    }
    for kind in ["definitions", "dependencies"] {
        for (name, schema) in children(kind) {
            visit(schema, format!("{path}.{kind}[{name}]"), depth, found);
        }
    }
    found.insert(path, Schema(Some(map)));
}

fn each_indexed<'s>(items: &'s [Value], path: &str, depth: usize, found: &mut HashMap<String, Schema<'s>>) {
    for (index, schema) in items.iter().enumerate() {
        visit(schema, format!("{path}[{index}]"), depth, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_are_sorted() {
        assert!(FIELDS.is_sorted_by_key(|(name, _)| *name));
    }

    #[test]
    fn empty_and_absent_are_equal_and_unknown_fields_do_not_count() {
        let old = json!({"type": "string", "required": [], "nullable": false, "title": "", "unknown": 1});
        let new = json!({"type": "string"});
        assert!(Schema::new(&old).differences(Schema::new(&new), &[]).is_empty());
        assert_eq!(canonical(&old, &[]), canonical(&new, &["description"]));
    }

    #[test]
    fn nested_schemas_are_compared_as_schemas() {
        let old = json!({"additionalProperties": {"type": "string", "nullable": false}});
        let new = json!({"additionalProperties": {"type": "string"}});
        assert!(Schema::new(&old).differences(Schema::new(&new), &[]).is_empty());
        assert_eq!(canonical(&old, &[]), canonical(&new, &[]));
        let new = json!({"additionalProperties": {"type": "string", "description": "d"}});
        assert_eq!(Schema::new(&old).differences(Schema::new(&new), &[]), ["additionalProperties"]);
        assert!(Schema::new(&old).differences(Schema::new(&new), &["additionalProperties"]).is_empty());
        assert_ne!(canonical(&old, &["description"]), canonical(&new, &["description"]));
    }

    #[test]
    fn paths_are_those_of_crdify() {
        let schema = json!({"properties": {"spec": {"items": {"type": "string"}, "oneOf": [{}, {}]}}});
        let mut paths: Vec<_> = flatten(&schema).into_keys().collect();
        paths.sort();
        assert_eq!(paths, ["^", "^.spec", "^.spec.items", "^.spec.oneOf[0]", "^.spec.oneOf[1]"]);
    }
}
