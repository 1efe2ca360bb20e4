//! Which defaults the API server validates, and how.

use crate::openapi;
use crate::openapi::{Mismatch, Step};
use crate::prelude::*;
use kube_yaml::Value;
use olm_model::crd::Keyword;

/// Returns the default of a schema if the API server validates it: not below `allOf` or similar and not in metadata of
/// the resource itself, where any default is rejected, and not below `additionalProperties`.
pub(crate) fn site<'b>(node: &SchemaNode<'_, 'b>) -> Option<Value<'b>> {
    let covered =
        node.place == StructuralPosition::Skeleton && node.no_default.is_none() && !node.below_additional;
    node.schema.get(Keyword::Default).filter(|_| covered)
}

/// Validates the resources in a default, or the one that it is a part of.
pub(crate) fn metadata(node: &SchemaNode<'_, '_>, default: Value<'_>) -> Result<(), Mismatch> {
    if !node.in_meta || node.is_resource() {
        return openapi::embedded(default, node.schema, node.is_resource(), &Path::ROOT);
    }
    let mut steps = Vec::new();
    let mut here = node;
    while let Some(parent) = here.parent {
        steps.push(if here.role == SchemaRole::Items { Step::Item } else { Step::Property(here.name) });
        here = parent;
        if here.is_resource() {
            break;
        }
    }
    steps.reverse();
    openapi::surrounded(default, &steps, here.schema)
}
