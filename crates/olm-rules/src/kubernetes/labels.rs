//! Labels and annotations.
//!
//! Source: `k8s.io/apimachinery/pkg/apis/meta/v1/validation/validation.go` (`ValidateLabels`) and
//! `pkg/api/validation/objectmeta.go` (`ValidateAnnotations`).

use std::collections::BTreeMap;

use super::names;
use crate::errors::ErrorReporter;
use kube_yaml::Path;

/// Validates the keys and values of labels.
pub(crate) fn validate(
    labels: Option<&BTreeMap<String, String>>,
    path: &Path<'_>,
    errors: &mut ErrorReporter<'_, '_>,
) {
    for (key, value) in labels.into_iter().flatten() {
        let path = path.key(key);
        if errors.check(&path, names::label_key(key)) {
            errors.check(&path, names::label_value(value));
        }
    }
}

/// Validates the keys of annotations.
pub(crate) fn annotation_keys<'k>(
    keys: impl Iterator<Item = &'k String>,
    path: &Path<'_>,
    errors: &mut ErrorReporter<'_, '_>,
) {
    for key in keys {
        errors.check(&path.key(key), names::annotation_key(key));
    }
}
