//! CRDs and their schemas, as their rules see them.

use std::sync::OnceLock;

use super::same;
use crate::model::Object;
use crate::model::crd::{Keyword, Schema};
use crate::model::yaml::{Path, Value};

/// A `CustomResourceDefinition` of `apiextensions.k8s.io/v1`.
#[derive(Debug, Clone)]
pub struct Crd<'b> {
    /// The object.
    pub object: Object<'b>,
    /// `spec`; null where it is missing.
    pub spec: Value<'b>,
    /// `spec.versions`.
    pub versions: Vec<Version<'b>>,
    one_schema: OnceLock<bool>,
}

/// One of a CRD's versions.
#[derive(Debug, Clone, Copy)]
pub struct Version<'b> {
    /// As it is written; null where the item is.
    pub value: Value<'b>,
    /// `schema.openAPIV3Schema`, where it is set.
    pub schema: Option<Value<'b>>,
}

impl<'b> Crd<'b> {
    /// The CRD that an object is; nothing where it is none, or of another API version.
    #[must_use]
    pub fn new(object: &Object<'b>) -> Option<Self> {
        if !object.is("apiextensions.k8s.io/v1", "CustomResourceDefinition") {
            return None;
        }
        let spec = object.root.get("spec").unwrap_or(object.root.nothing());
        let versions = spec.get("versions").into_iter().flat_map(Value::items);
        let versions = versions
            .map(|value| {
                let schema = value.dig(&["schema", "openAPIV3Schema"]).filter(|schema| !schema.is_null());
                Version { value, schema }
            })
            .collect();
        Some(Self { object: *object, spec, versions, one_schema: OnceLock::new() })
    }

    /// A string of `spec`, by the keys that lead to it; empty where it is missing.
    #[must_use]
    pub fn text(&self, keys: &[&str]) -> &'b str {
        self.spec.dig(keys).and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether the schema of the version `index` is judged as one whose status is a subresource: where all versions
    /// have the same schema, the API server judges it once, for all of them together.
    #[must_use]
    pub fn has_status(&self, index: usize) -> bool {
        let own = self.versions.get(index).is_some_and(Version::has_status);
        own || self.has_one_schema() && self.versions.iter().any(Version::has_status)
    }

    /// Whether all versions have the same schema, as the API server compares them.
    #[must_use]
    pub fn has_one_schema(&self) -> bool {
        *self.one_schema.get_or_init(|| self.compare_schemas())
    }

    fn compare_schemas(&self) -> bool {
        self.versions.windows(2).all(|pair| match (pair[0].schema, pair[1].schema) {
            (Some(a), Some(b)) => same::schemas(&Schema::read(a), &Schema::read(b)),
            (None, None) => true,
            _ => false,
        })
    }
}

impl<'b> Version<'b> {
    /// `name`.
    #[must_use]
    pub fn name(&self) -> &'b str {
        self.value.get("name").and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether a field of the version is `true`.
    #[must_use]
    pub fn flag(&self, field: &str) -> bool {
        self.value.get(field).and_then(Value::as_bool).unwrap_or_default()
    }

    fn has_status(&self) -> bool {
        self.value.dig(&["subresources", "status"]).is_some_and(|status| !status.is_null())
    }
}

/// Where a schema stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// `openAPIV3Schema` itself.
    Root,
    /// One of `properties`.
    Property,
    /// `items`, or one of them.
    Items,
    /// `additionalProperties`.
    Additional,
    /// One of `anyOf`.
    AnyOf,
    /// The first of `allOf`.
    FirstOfAll,
    /// One of `oneOf`, another one of `allOf`, `not`, or below a keyword that is forbidden.
    Other,
}

/// What a schema is to the API server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Part of the skeleton: reached from the root by `properties`, `items` and `additionalProperties`.
    Skeleton,
    /// Below `allOf`, `anyOf`, `oneOf` or `not`: may only restrict values.
    Nested,
    /// Below a keyword that is forbidden: read, but not judged.
    Forbidden,
}

/// One schema on the walk, with what it inherits from those above it.
#[derive(Debug, Clone, Copy)]
pub struct SchemaNode<'n, 'b> {
    /// The CRD.
    pub crd: &'n Crd<'b>,
    /// Which of its versions, from zero.
    pub version: usize,
    /// Where it stands in the object.
    pub path: Path<'n>,
    /// The schema itself.
    pub schema: &'n Schema<'b>,
    /// The schema that holds it.
    pub parent: Option<&'n SchemaNode<'n, 'b>>,
    /// How the parent holds it.
    pub role: Role,
    /// What it is to the API server.
    pub place: Place,
    /// Its name, for a property.
    pub name: &'b str,
    /// Whether it describes `apiVersion`, `kind` or `metadata` of the resource or of one embedded in it, or what lies
    /// below these.
    pub in_meta: bool,
    /// Why a default would be forbidden here.
    pub no_default: Option<&'static str>,
    /// Whether it lies below `additionalProperties`, where defaults are not judged.
    pub below_additional: bool,
}

impl<'b> SchemaNode<'_, 'b> {
    /// Whether the schema is that of a whole resource: the root's, or one embedded.
    #[must_use]
    pub fn is_resource(&self) -> bool {
        self.role == Role::Root || self.schema.flag(Keyword::XEmbeddedResource)
    }

    /// The schema below this one that stands at `path`.
    pub(super) fn child<'c>(
        &'c self,
        schema: &'c Schema<'b>,
        path: Path<'c>,
        role: Role,
    ) -> SchemaNode<'c, 'b> {
        let mut child = SchemaNode {
            schema,
            path,
            role,
            parent: Some(self),
            name: "",
            below_additional: self.below_additional || role == Role::Additional,
            ..*self
        };
        if matches!(role, Role::AnyOf | Role::FirstOfAll | Role::Other) && self.place == Place::Skeleton {
            child.place = Place::Nested;
        }
        if role == Role::Additional && self.in_meta {
            child.no_default = Some("inside additionalProperties of an object's metadata");
        }
        child
    }
}
