//! The schemas of a CRD, as the walk through them meets them.

use super::crd::Crd;
use crate::model::crd::{Keyword, Schema};
use crate::model::yaml::Path;

/// How a schema is contained in its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::rules) enum SchemaRole {
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
pub(in crate::rules) enum Place {
    /// Part of the skeleton: reached from the root by `properties`, `items` and `additionalProperties`.
    Skeleton,
    /// Below `allOf`, `anyOf`, `oneOf` or `not`: may only restrict values.
    Nested,
    /// Below a forbidden keyword: decoded, but not validated.
    Forbidden,
}

/// One schema on the walk, with the properties that it inherits from its ancestors.
#[derive(Debug, Clone, Copy)]
pub(in crate::rules) struct SchemaNode<'n, 'b> {
    /// The CRD.
    pub(in crate::rules) crd: &'n Crd<'b>,
    /// The index of the version.
    pub(in crate::rules) version: usize,
    /// The path of the schema in the object.
    pub(in crate::rules) path: Path<'n>,
    /// The schema itself.
    pub(in crate::rules) schema: &'n Schema<'b>,
    /// The parent schema.
    pub(in crate::rules) parent: Option<&'n SchemaNode<'n, 'b>>,
    /// How the parent contains it.
    pub(in crate::rules) role: SchemaRole,
    /// How the API server treats it.
    pub(in crate::rules) place: Place,
    /// Its name, for a property.
    pub(in crate::rules) name: &'b str,
    /// Whether it is, or is below, the schema of `apiVersion`, `kind` or `metadata` of the resource or of one embedded in it.
    pub(in crate::rules) in_meta: bool,
    /// Where defaults are forbidden, if they are forbidden here.
    pub(in crate::rules) no_default: Option<&'static str>,
    /// Whether it is below `additionalProperties`, where defaults are not validated.
    pub(in crate::rules) below_additional: bool,
}

impl<'b> SchemaNode<'_, 'b> {
    /// Returns whether the schema is that of a whole resource: the root, or an embedded one.
    #[must_use]
    pub(in crate::rules) fn is_resource(&self) -> bool {
        self.role == SchemaRole::Root || self.schema.flag(Keyword::XEmbeddedResource)
    }

    /// Returns the child schema at `path`.
    #[must_use]
    pub(in crate::rules) fn child<'c>(
        &'c self,
        schema: &'c Schema<'b>,
        path: Path<'c>,
        role: SchemaRole,
    ) -> SchemaNode<'c, 'b> {
        let mut child = SchemaNode {
            schema,
            path,
            role,
            parent: Some(self),
            name: "",
            below_additional: self.below_additional || role == SchemaRole::Additional,
            ..*self
        };
        if matches!(role, SchemaRole::AnyOf | SchemaRole::FirstOfAll | SchemaRole::Other)
            && self.place == Place::Skeleton
        {
            child.place = Place::Nested;
        }
        if role == SchemaRole::Additional && self.in_meta {
            child.no_default = Some("in `additionalProperties` of an object's `metadata`");
        }
        child
    }
}
