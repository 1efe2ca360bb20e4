//! The schemas of a CRD, as the walk through them meets them.

use super::crd::Crd;
use kube_yaml::Path;
use olm_model::crd::{Keyword, Schema};

/// How a schema is contained in its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SchemaRole {
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
pub(crate) enum StructuralPosition {
    /// Part of the skeleton: reached from the root by `properties`, `items` and `additionalProperties`.
    Skeleton,
    /// Below `allOf`, `anyOf`, `oneOf` or `not`: may only restrict values.
    Nested,
    /// Below a forbidden keyword: decoded, but not validated.
    Forbidden,
}

/// One schema on the walk, with the properties that it inherits from its ancestors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SchemaNode<'n, 'b> {
    /// The CRD.
    pub(crate) crd: &'n Crd<'b>,
    /// The index of the version.
    pub(crate) version: usize,
    /// The path of the schema in the object.
    pub(crate) path: Path<'n>,
    /// The schema itself.
    pub(crate) schema: &'n Schema<'b>,
    /// The parent schema.
    pub(crate) parent: Option<&'n SchemaNode<'n, 'b>>,
    /// How the parent contains it.
    pub(crate) role: SchemaRole,
    /// How the API server treats it.
    pub(crate) place: StructuralPosition,
    /// Its name, for a property.
    pub(crate) name: &'b str,
    /// Whether it is, or is below, the schema of `apiVersion`, `kind` or `metadata` of the resource or of one embedded in it.
    pub(crate) in_meta: bool,
    /// Where defaults are forbidden, if they are forbidden here.
    pub(crate) no_default: Option<&'static str>,
    /// Whether it is below `additionalProperties`, where defaults are not validated.
    pub(crate) below_additional: bool,
}

impl<'b> SchemaNode<'_, 'b> {
    /// Returns whether the schema is that of a whole resource: the root, or an embedded one.
    #[must_use]
    pub(crate) fn is_resource(&self) -> bool {
        self.role == SchemaRole::Root || self.schema.flag(Keyword::XEmbeddedResource)
    }

    /// Returns the child schema at `path`.
    #[must_use]
    pub(crate) fn child<'c>(
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
            && self.place == StructuralPosition::Skeleton
        {
            child.place = StructuralPosition::Nested;
        }
        if role == SchemaRole::Additional && self.in_meta {
            child.no_default = Some("in `additionalProperties` of an object's `metadata`");
        }
        child
    }
}
