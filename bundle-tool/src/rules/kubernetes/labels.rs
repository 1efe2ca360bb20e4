//! Labels and annotations.
//!
//! Source: `k8s.io/apimachinery/pkg/apis/meta/v1/validation/validation.go` (`ValidateLabels`) and
//! `pkg/api/validation/objectmeta.go` (`ValidateAnnotations`).

use std::collections::BTreeMap;

use super::{Errors, names};
use crate::model::yaml::Path;

/// How many bytes the keys and values of all annotations of an object may have together.
pub(in crate::rules) const MAX_ANNOTATIONS: usize = 256 << 10;

/// Keys and values of labels.
pub(in crate::rules) fn validate(
    labels: Option<&BTreeMap<String, String>>,
    path: &Path<'_>,
    errors: &mut Errors<'_, '_>,
) {
    for (key, value) in labels.into_iter().flatten() {
        let path = path.key(key);
        if errors.check(&path, names::qualified(key).map_err(|message| format!("the key {message}"))) {
            errors.check(&path, names::label_value(value));
        }
    }
}

/// Keys of annotations.
pub(in crate::rules) fn annotation_keys<'k>(
    keys: impl Iterator<Item = &'k String>,
    path: &Path<'_>,
    errors: &mut Errors<'_, '_>,
) {
    for key in keys {
        errors.check(
            &path.key(key),
            names::annotation_key(key).map_err(|message| format!("the key {message}")),
        );
    }
}

/// The size of all keys and values together, in bytes.
pub(in crate::rules) fn size(annotations: &BTreeMap<String, String>) -> usize {
    annotations.iter().map(|(key, value)| key.len() + value.len()).sum()
}
