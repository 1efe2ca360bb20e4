//! The metadata of every object.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use kube_yaml::{DecodeError, Path};
use olm_model::Object;

/// Maximum size in bytes of the keys and values of all annotations of an object.
///
/// Source: `k8s.io/apimachinery/pkg/api/validation/objectmeta.go` (`TotalAnnotationSizeLimitB`).
pub(crate) const MAX_ANNOTATIONS: usize = 256 << 10;

/// Returns the size in bytes of the keys and values of annotations.
pub(crate) fn annotation_bytes(annotations: &BTreeMap<String, String>) -> usize {
    annotations.iter().map(|(key, value)| key.len() + value.len()).sum()
}

/// The metadata of one object.
#[derive(Debug)]
pub(crate) struct Metadata<'m> {
    /// The object.
    pub(crate) object: Object<'m>,
    /// Its metadata, decoded.
    pub(crate) typed: ObjectMeta,
}

impl<'m> Metadata<'m> {
    /// Decodes the metadata of an object that has a kind.
    #[must_use]
    pub(crate) fn new(object: &Object<'m>) -> Option<Result<Self, DecodeError>> {
        if object.kind().is_empty() {
            return None;
        }
        let decoded = match object.root.get("metadata") {
            Some(value) => {
                kube_yaml::decode(value, &Path::ROOT.field("metadata")).map(|decoded| decoded.object)
            }
            None => Ok(ObjectMeta::default()),
        };
        Some(decoded.map(|typed| Self { object: *object, typed }))
    }

    /// Returns the size in bytes of the keys and values of the annotations.
    #[must_use]
    pub(crate) fn annotation_bytes(&self) -> usize {
        self.typed.annotations.as_ref().map_or(0, annotation_bytes)
    }
}
