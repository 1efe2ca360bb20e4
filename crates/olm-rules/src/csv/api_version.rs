//! How Go reads an `apiVersion`.

/// Returns whether Go finds no version in an `apiVersion`; api-version-invalid reports those with more than one slash.
///
/// Source: `pkg/runtime/schema/group_version.go` of k8s.io/apimachinery (`ParseGroupVersion`).
pub(crate) fn is_without_version(api_version: &str) -> bool {
    match api_version.split_once('/') {
        Some((_, version)) => version.is_empty(),
        None => api_version.is_empty(),
    }
}
