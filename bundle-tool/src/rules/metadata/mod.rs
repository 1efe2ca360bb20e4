//! The metadata of every object: names by kind, labels, annotations, finalizers, owners.
//!
//! Sources: `k8s.io/apimachinery/pkg/api/validation/objectmeta.go`, and for the names `k8s.io/kubernetes/pkg/apis/*/validation`.

mod metadata_annotation_invalid;
mod metadata_annotations_too_large;
mod metadata_finalizer_invalid;
mod metadata_label_invalid;
mod metadata_name_invalid;
mod metadata_namespace_set;
mod metadata_owner_invalid;
mod metadata_system_field_set;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::Rule;
use crate::model::Object;
use crate::model::yaml::{self, DecodeError, Path};

/// The rules of this directory, sorted by id.
pub(super) static RULES: &[&Rule] = &[
    &metadata_annotation_invalid::RULE,
    &metadata_annotations_too_large::RULE,
    &metadata_finalizer_invalid::RULE,
    &metadata_label_invalid::RULE,
    &metadata_name_invalid::RULE,
    &metadata_namespace_set::RULE,
    &metadata_owner_invalid::RULE,
    &metadata_system_field_set::RULE,
];

/// The metadata of one object.
#[derive(Debug)]
pub struct Metadata<'m> {
    /// The object.
    pub object: Object<'m>,
    /// Its metadata, decoded.
    pub typed: ObjectMeta,
}

impl<'m> Metadata<'m> {
    /// Decodes the metadata of an object that has a kind.
    #[must_use]
    pub fn new(object: &Object<'m>) -> Option<Result<Self, DecodeError>> {
        if object.kind().is_empty() {
            return None;
        }
        let decoded = match object.root.get("metadata") {
            Some(value) => yaml::decode(value, &Path::ROOT.field("metadata")).map(|decoded| decoded.object),
            None => Ok(ObjectMeta::default()),
        };
        Some(decoded.map(|typed| Self { object: *object, typed }))
    }
}
