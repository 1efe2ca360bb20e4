//! CRDs and their schemas as the rules read them.

use std::sync::OnceLock;

use super::effort::Effort;
use super::same;
use crate::model::Object;
use crate::model::crd::{Keyword, Schema};
use crate::model::yaml::{Path, Value};

/// A `CustomResourceDefinition` of `apiextensions.k8s.io/v1`.
#[derive(Debug)]
pub struct Crd<'b> {
    /// The object.
    pub object: Object<'b>,
    /// `spec`; null if it is missing.
    pub spec: Value<'b>,
    /// `spec.versions`.
    pub versions: Vec<Version<'b>>,
    one_schema: OnceLock<bool>,
    has_any_status: bool,
    /// What is left to spend on its defaults.
    pub(super) effort: Effort<'b>,
}

/// A version of a CRD.
#[derive(Debug, Clone, Copy)]
pub struct Version<'b> {
    /// The version as written; null if the item is null.
    pub value: Value<'b>,
    /// `schema.openAPIV3Schema`, if it is set.
    pub schema: Option<Value<'b>>,
}

impl<'b> Crd<'b> {
    /// Returns the CRDs among objects, without those of another API version.
    #[must_use]
    pub fn all(objects: &[Object<'b>]) -> Vec<Self> {
        let is_crd = |object: &&Object<'_>| object.is("apiextensions.k8s.io/v1", "CustomResourceDefinition");
        let total = objects.iter().filter(is_crd).map(|object| object.root.document_size()).sum();
        let crds = objects.iter().filter(is_crd);
        crds.map(|object| Self::new(object, Effort::share(object.root.document_size(), total))).collect()
    }

    fn new(object: &Object<'b>, effort: Effort<'b>) -> Self {
        let spec = object.root.get("spec").unwrap_or(object.root.nothing());
        let versions = spec.get("versions").into_iter().flat_map(Value::items);
        let versions: Vec<_> = versions
            .map(|value| {
                let schema = value.dig(&["schema", "openAPIV3Schema"]).filter(|schema| !schema.is_null());
                Version { value, schema }
            })
            .collect();
        let has_any_status = versions.iter().any(Version::has_status);
        Self { object: *object, spec, versions, one_schema: OnceLock::new(), has_any_status, effort }
    }

    /// Returns a string of `spec` by its path; empty if it is missing.
    #[must_use]
    pub fn text(&self, keys: &[&str]) -> &'b str {
        self.spec.dig(keys).and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns whether the schema of the version `index` is validated as one with a status subresource: if all versions
    /// have the same schema, the API server validates it once for all of them.
    #[must_use]
    pub fn has_status(&self, index: usize) -> bool {
        let own = self.versions.get(index).is_some_and(Version::has_status);
        own || self.has_any_status && self.has_one_schema()
    }

    /// Returns whether all versions have the same schema, as the API server compares them.
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
    /// Returns `name`.
    #[must_use]
    pub fn name(&self) -> &'b str {
        self.value.get("name").and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns whether a field of the version is `true`.
    #[must_use]
    pub fn flag(&self, field: &str) -> bool {
        self.value.get(field).and_then(Value::as_bool).unwrap_or_default()
    }

    fn has_status(&self) -> bool {
        self.value.dig(&["subresources", "status"]).is_some_and(|status| !status.is_null())
    }
}

/// How a schema is contained in its parent.
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
    /// One of `oneOf`, a further one of `allOf`, `not`, or below a forbidden keyword.
    Other,
}

/// How the API server treats a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Part of the skeleton: reached from the root by `properties`, `items` and `additionalProperties`.
    Skeleton,
    /// Below `allOf`, `anyOf`, `oneOf` or `not`: may only restrict values.
    Nested,
    /// Below a forbidden keyword: decoded, but not validated.
    Forbidden,
}

/// One schema on the walk, with the properties that it inherits from its ancestors.
#[derive(Debug, Clone, Copy)]
pub struct SchemaNode<'n, 'b> {
    /// The CRD.
    pub crd: &'n Crd<'b>,
    /// The index of the version.
    pub version: usize,
    /// The path of the schema in the object.
    pub path: Path<'n>,
    /// The schema itself.
    pub schema: &'n Schema<'b>,
    /// The parent schema.
    pub parent: Option<&'n SchemaNode<'n, 'b>>,
    /// How the parent contains it.
    pub role: Role,
    /// How the API server treats it.
    pub place: Place,
    /// Its name, for a property.
    pub name: &'b str,
    /// Whether it is, or is below, the schema of `apiVersion`, `kind` or `metadata` of the resource or of one embedded in it.
    pub in_meta: bool,
    /// Where defaults are forbidden, if they are forbidden here.
    pub no_default: Option<&'static str>,
    /// Whether it is below `additionalProperties`, where defaults are not validated.
    pub below_additional: bool,
}

impl<'b> SchemaNode<'_, 'b> {
    /// Returns whether the schema is that of a whole resource: the root, or an embedded one.
    #[must_use]
    pub fn is_resource(&self) -> bool {
        self.role == Role::Root || self.schema.flag(Keyword::XEmbeddedResource)
    }

    /// Returns the child schema at `path`.
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
            child.no_default = Some("in `additionalProperties` of an object's `metadata`");
        }
        child
    }
}
