//! The metadata of every object: names by kind, labels, annotations, finalizers, owners.
//!
//! Sources: `k8s.io/apimachinery/pkg/api/validation/objectmeta.go`, and for the names `k8s.io/kubernetes/pkg/apis/*/validation`.

super::rule::rule_files! {
    metadata_annotation_invalid,
    metadata_annotations_too_large,
    metadata_finalizer_invalid,
    metadata_label_invalid,
    metadata_name_invalid,
    metadata_namespace_set,
    metadata_owner_invalid,
    metadata_system_field_set,
}
