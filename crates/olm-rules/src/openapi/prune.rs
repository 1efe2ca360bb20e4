//! Fields that the API server drops because the schema does not declare them.
//!
//! Source: `pkg/apiserver/schema/pruning/algorithm.go` of `k8s.io/apiextensions-apiserver`.

use kube_yaml::{Kind, Path, Value};
use olm_model::crd::{Additional, Items, Keyword, Schema};

/// Returns the first field of `value` that would be dropped; `path` is the path of the value, `resource` whether the
/// schema is that of a whole resource.
pub(crate) fn unknown_field(
    value: Value<'_>,
    schema: &Schema<'_>,
    resource: bool,
    path: &Path<'_>,
) -> Option<String> {
    prune(value, Some(schema), resource, path)
}

fn prune(value: Value<'_>, schema: Option<&Schema<'_>>, resource: bool, path: &Path<'_>) -> Option<String> {
    if let Some(schema) = schema
        && schema.flag(Keyword::XPreserveUnknownFields)
    {
        return keep(value, schema, resource, path);
    }
    match value.kind() {
        Kind::Object => value.unique_entries().find_map(|(key, value)| {
            let name = key.text();
            let path = path.field(name);
            let Some(schema) = schema else { return Some(path.to_string()) };
            if is_meta(schema, resource, name) {
                return None;
            }
            match (schema.property(name), schema.additional()) {
                (Some(property), _) => prune(value, Some(&Schema::read(property)), false, &path),
                (None, Additional::Schema(values)) => prune(value, Some(&Schema::read(values)), false, &path),
                (None, Additional::Boolean(_)) => prune(value, None, false, &path),
                (None, Additional::Unset) => Some(path.to_string()),
            }
        }),
        Kind::Array => {
            let items = schema.and_then(items);
            value
                .items()
                .enumerate()
                .find_map(|(index, item)| prune(item, items.as_ref(), false, &path.index(index)))
        }
        _ => None,
    }
}

/// Returns the first field that would be dropped below a schema that preserves unknown fields: declared fields are still
/// pruned.
fn keep(value: Value<'_>, schema: &Schema<'_>, resource: bool, path: &Path<'_>) -> Option<String> {
    match value.kind() {
        Kind::Object => value.unique_entries().find_map(|(key, value)| {
            let name = key.text();
            let path = path.field(name);
            if is_meta(schema, resource, name) {
                return None;
            }
            match (schema.property(name), schema.additional()) {
                (Some(property), _) => prune(value, Some(&Schema::read(property)), false, &path),
                (None, Additional::Schema(values)) => prune(value, Some(&Schema::read(values)), false, &path),
                (None, Additional::Boolean(_)) => prune(value, None, false, &path),
                (None, Additional::Unset) => None,
            }
        }),
        Kind::Array => {
            let items = items(schema)?;
            value.items().enumerate().find_map(|(index, item)| keep(item, &items, false, &path.index(index)))
        }
        _ => None,
    }
}

fn is_meta(schema: &Schema<'_>, resource: bool, name: &str) -> bool {
    (resource || schema.flag(Keyword::XEmbeddedResource))
        && matches!(name, "apiVersion" | "kind" | "metadata")
}

fn items<'b>(schema: &Schema<'b>) -> Option<Schema<'b>> {
    match schema.items() {
        Items::Schema(items) => Some(Schema::read(items)),
        Items::Unset | Items::Other => None,
    }
}
