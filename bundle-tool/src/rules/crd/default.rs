//! Where defaults are judged, and as what.

use crate::model::crd::Keyword;
use crate::model::yaml::{Path, Value};
use crate::rules::openapi::{self, Mismatch, Step};
use crate::rules::{Place, Role, SchemaNode};

/// The default of a schema, where the API server judges it: not below `allOf` and the like and not in metadata of the
/// resource itself, where it is refused as such, and not below `additionalProperties`, where nobody looks at it.
pub(super) fn site<'b>(node: &SchemaNode<'_, 'b>) -> Option<Value<'b>> {
    let covered = node.place == Place::Skeleton && node.no_default.is_none() && !node.below_additional;
    let default = node.schema.get(Keyword::Default).filter(|_| covered)?;
    let effort = size(default, MOST_EFFORT).saturating_mul(size(node.schema.value, MOST_EFFORT));
    (effort <= MOST_EFFORT).then_some(default)
}

/// How many steps a default is worth: every value in it may meet every schema. Real ones take some thousands; with
/// more than this, the API server itself would not answer in time.
const MOST_EFFORT: usize = 100_000_000;

/// How many values a value holds, itself included; no more than `most` are counted.
fn size(value: Value<'_>, most: usize) -> usize {
    let mut size = 1;
    for child in value.items().chain(value.entries().map(|(_, value)| value)) {
        if size >= most {
            break;
        }
        size += self::size(child, most - size);
    }
    size
}

/// Judges the resources within a default, or the one that it is a part of.
pub(super) fn metadata(node: &SchemaNode<'_, '_>, default: Value<'_>) -> Result<(), Mismatch> {
    if !node.in_meta || node.is_resource() {
        return openapi::embedded(default, node.schema, node.is_resource(), &Path::ROOT);
    }
    let mut steps = Vec::new();
    let mut here = node;
    while let Some(parent) = here.parent {
        steps.push(if here.role == Role::Items { Step::Item } else { Step::Property(here.name) });
        here = parent;
        if here.is_resource() {
            break;
        }
    }
    steps.reverse();
    openapi::surrounded(default, &steps, here.schema)
}
