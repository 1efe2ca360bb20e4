//! The metadata of every object.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::model::Object;
use crate::model::yaml::{self, DecodeError, Path};

/// Maximum size in bytes of the keys and values of all annotations of an object.
///
/// Source: `k8s.io/apimachinery/pkg/api/validation/objectmeta.go` (`TotalAnnotationSizeLimitB`).
pub(in crate::rules) const MAX_ANNOTATIONS: usize = 256 << 10;

/// Returns the size in bytes of the keys and values of annotations.
pub(in crate::rules) fn annotation_bytes(annotations: &BTreeMap<String, String>) -> usize {
    annotations.iter().map(|(key, value)| key.len() + value.len()).sum()
}

/// The metadata of one object.
#[derive(Debug)]
pub(in crate::rules) struct Metadata<'m> {
    /// The object.
    pub(in crate::rules) object: Object<'m>,
    /// Its metadata, decoded.
    pub(in crate::rules) typed: ObjectMeta,
}

impl<'m> Metadata<'m> {
    /// Decodes the metadata of an object that has a kind.
    #[must_use]
    pub(in crate::rules) fn new(object: &Object<'m>) -> Option<Result<Self, DecodeError>> {
        if object.kind().is_empty() {
            return None;
        }
        let decoded = match object.root.get("metadata") {
            Some(value) => yaml::decode(value, &Path::ROOT.field("metadata")).map(|decoded| decoded.object),
            None => Ok(ObjectMeta::default()),
        };
        Some(decoded.map(|typed| Self { object: *object, typed }))
    }

    /// Returns the size in bytes of the keys and values of the annotations.
    #[must_use]
    pub(in crate::rules) fn annotation_bytes(&self) -> usize {
        self.typed.annotations.as_ref().map_or(0, annotation_bytes)
    }
}
