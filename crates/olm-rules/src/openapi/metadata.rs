//! Resources embedded in a value: their `apiVersion`, `kind` and `metadata`.
//!
//! Source: `pkg/apiserver/schema/objectmeta` of `k8s.io/apiextensions-apiserver`, `pkg/api/validation/objectmeta.go`
//! of `k8s.io/apimachinery`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::validate::Mismatch;
use crate::kubernetes::names;
use kube_yaml::{Builder, Kind, NodeId, Path, Position, Scalar, Tree, Value, decode, resolve};
use olm_model::crd::{Additional, Items, Keyword, Schema};

type Verdict = Result<(), Mismatch>;

fn wrong(path: &Path<'_>, message: impl Into<String>) -> Verdict {
    Err(Mismatch { path: path.to_string(), message: message.into() })
}

/// Validates the resources that are embedded in `value`; `resource` is whether it is one itself.
pub(crate) fn embedded(value: Value<'_>, schema: &Schema<'_>, resource: bool, path: &Path<'_>) -> Verdict {
    match value.kind() {
        Kind::Object => {
            if resource || schema.flag(Keyword::XEmbeddedResource) {
                resource_fields(value, path)?;
            }
            for (key, value) in value.unique_entries() {
                let below = match (schema.property(key.text()), schema.additional()) {
                    (Some(property), _) => property,
                    (None, Additional::Schema(values)) => values,
                    (None, _) => continue,
                };
                embedded(value, &Schema::read(below), false, &path.field(key.text()))?;
            }
        }
        Kind::Array => {
            if let Items::Schema(items) = schema.items() {
                let items = Schema::read(items);
                for (index, item) in value.items().enumerate() {
                    embedded(item, &items, false, &path.index(index))?;
                }
            }
        }
        _ => {}
    }
    Ok(())
}

/// A step from a resource to a value within it.
pub(crate) enum Step<'s> {
    /// A property.
    Property(&'s str),
    /// An item of a list.
    Item,
}

/// Validates `value` as the only part of a resource, `steps` below its root, whose schema is `schema`.
pub(crate) fn surrounded(value: Value<'_>, steps: &[Step<'_>], schema: &Schema<'_>) -> Verdict {
    let tree = surround(value, steps);
    embedded(tree.root(), schema, true, &Path::ROOT)
}

fn surround(value: Value<'_>, steps: &[Step<'_>]) -> Tree {
    let mut builder = Builder::default();
    let place = Position::default();
    let mut node = copy(value, &mut builder);
    for (index, step) in steps.iter().enumerate().rev() {
        node = match step {
            Step::Item => builder.sequence(&[node], place),
            Step::Property(name) => {
                let mut entries = vec![builder.scalar(name, Scalar::String, place), node];
                if index == 0 {
                    for (field, text) in [("apiVersion", "validation/v1"), ("kind", "Validation")] {
                        if field != *name {
                            entries.push(builder.scalar(field, Scalar::String, place));
                            entries.push(builder.scalar(text, Scalar::String, place));
                        }
                    }
                }
                builder.mapping(&entries, place)
            }
        };
    }
    builder.finish(Some(node))
}

fn copy(value: Value<'_>, builder: &mut Builder) -> NodeId {
    let place = value.position();
    match value.kind() {
        Kind::Array => {
            let items: Vec<_> = value.items().map(|item| copy(item, builder)).collect();
            builder.sequence(&items, place)
        }
        Kind::Object => {
            let mut entries = Vec::new();
            for (key, value) in value.unique_entries() {
                entries.push(builder.scalar(key.text(), Scalar::String, place));
                entries.push(copy(value, builder));
            }
            builder.mapping(&entries, place)
        }
        Kind::String => builder.scalar(value.text(), Scalar::String, place),
        _ => builder.scalar(value.text(), resolve(value.text()), place),
    }
}

fn resource_fields(value: Value<'_>, path: &Path<'_>) -> Verdict {
    for field in ["apiVersion", "kind"] {
        let here = path.field(field);
        let text = match value.get(field) {
            None => return wrong(&here, format!("missing required field `{field}`")),
            Some(value) => match value.as_str() {
                None => return wrong(&here, format!("`{field}` must be a string")),
                Some(text) => text,
            },
        };
        if text.is_empty() {
            return wrong(&here, format!("`{field}` must not be empty"));
        }
        if field == "apiVersion" && text != "/" && text.matches('/').count() > 1 {
            return wrong(
                &here,
                format!("invalid apiVersion `{text}`: expected `group/version` or `version`"),
            );
        }
        if field == "kind"
            && let Err(problem) = names::kind("kind", text)
        {
            return wrong(&here, problem);
        }
    }
    let Some(metadata) = value.get("metadata") else { return Ok(()) };
    object_meta(metadata, &path.field("metadata"))
}

/// Validates the `metadata` of a custom resource at `path`, whatever its name is for.
pub(crate) fn object_meta(metadata: Value<'_>, path: &Path<'_>) -> Verdict {
    match decode::<ObjectMeta>(metadata, path) {
        Ok(decoded) => decoded.object.check(path),
        Err(error) => Err(Mismatch { path: error.path, message: error.message }),
    }
}

/// The validated fields of `metadata`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ObjectMeta {
    name: String,
    generate_name: String,
    namespace: String,
    self_link: String,
    uid: String,
    resource_version: String,
    generation: i64,
    creation_timestamp: Option<jiff::Timestamp>,
    deletion_timestamp: Option<jiff::Timestamp>,
    deletion_grace_period_seconds: Option<i64>,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    owner_references: Vec<OwnerReference>,
    finalizers: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct OwnerReference {
    api_version: String,
    kind: String,
    name: String,
    uid: String,
    controller: Option<bool>,
    block_owner_deletion: Option<bool>,
}

impl ObjectMeta {
    fn check(&self, path: &Path<'_>) -> Verdict {
        let Self {
            name,
            generate_name,
            namespace,
            generation,
            labels,
            annotations,
            owner_references,
            finalizers,
            self_link: _,
            uid: _,
            resource_version: _,
            creation_timestamp: _,
            deletion_timestamp: _,
            deletion_grace_period_seconds: _,
        } = self;
        for (field, name) in [("name", name), ("generateName", generate_name)] {
            let segment = |problem| Mismatch { path: path.field(field).to_string(), message: problem };
            if !name.is_empty() {
                names::path_segment(name).map_err(segment)?;
            }
        }
        if !namespace.is_empty()
            && let Err(problem) = names::dns_label(namespace)
        {
            return wrong(&path.field("namespace"), problem);
        }
        if *generation < 0 {
            return wrong(&path.field("generation"), "must not be negative");
        }
        let here = path.field("labels");
        for (key, value) in labels {
            names::label_key(key)
                .and_then(|()| names::label_value(value))
                .or_else(|problem| wrong(&here, problem))?;
        }
        let here = path.field("annotations");
        for key in annotations.keys() {
            names::annotation_key(key).or_else(|problem| wrong(&here, problem))?;
        }
        let here = path.field("ownerReferences");
        for OwnerReference { api_version, kind, name, uid, controller: _, block_owner_deletion: _ } in
            owner_references
        {
            if [api_version, kind, name, uid].iter().any(|field| field.is_empty()) {
                return wrong(&here, "an owner reference requires `apiVersion`, `kind`, `name` and `uid`");
            }
        }
        if owner_references.iter().filter(|owner| owner.controller == Some(true)).count() > 1 {
            return wrong(&here, "only one owner reference can set `controller: true`");
        }
        let here = path.field("finalizers");
        for finalizer in finalizers {
            names::qualified(finalizer).or_else(|problem| wrong(&here, problem))?;
        }
        Ok(())
    }
}
