//! The bundle's format: its folders, files, annotations and documents.

mod annotation_missing;
mod annotations_missing;
mod csv_missing;
mod csv_several;
mod manifests_missing;
mod unsupported_kind;
mod yaml_syntax;

use super::Rule;

/// The rules of this folder, sorted by id.
pub(super) static RULES: &[&Rule] = &[
    &annotation_missing::RULE,
    &annotations_missing::RULE,
    &csv_missing::RULE,
    &csv_several::RULE,
    &manifests_missing::RULE,
    &unsupported_kind::RULE,
    &yaml_syntax::RULE,
];
