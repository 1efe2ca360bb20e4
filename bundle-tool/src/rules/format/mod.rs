//! The format of a bundle: directories, files, annotations and documents.

mod annotation_empty;
mod annotation_missing;
mod annotation_not_text;
mod annotations_missing;
mod api_version_invalid;
mod bundle_nearly_too_large;
mod bundle_too_large;
mod channel_blank;
mod csv_missing;
mod csv_several;
mod default_channel_unlisted;
mod directory_in_manifests;
mod document_empty;
mod document_not_object;
mod document_unread;
mod file_hidden;
mod file_large;
mod generate_name_used;
mod json_not_yaml;
mod manifest_lost;
mod manifests_elsewhere;
mod manifests_missing;
mod media_type_wrong;
mod metadata_elsewhere;
mod metadata_unread;
mod object_too_large;
mod package_empty;
mod package_name_invalid;
mod unsupported_kind;
mod yaml_duplicate_key;
mod yaml_syntax;

use super::Reporter;
use super::Rule;
use crate::model::yaml::Path;
use crate::model::{Annotations, File};

/// Maximum size in bytes of the ConfigMap that OLM unpacks a bundle into.
const MAX_BUNDLE_SIZE: u64 = 1 << 20;

/// Maximum size of an object in etcd, in bytes of JSON.
const MAX_OBJECT_SIZE: u64 = 3 << 19;

/// Reports a finding about one annotation, at its position or, if it is missing, at that of its map.
fn report_annotation(
    annotations: &Annotations<'_>,
    key: &str,
    reporter: &mut Reporter<'_>,
    message: impl Into<String>,
) {
    let root = Path::ROOT;
    let parent = root.field("annotations");
    let path = parent.key(key);
    reporter.at(annotations.file, &path.to_string(), annotations.root.locate(&path), message);
}

/// Returns whether the object of a file exceeds the limit of etcd.
fn too_large(file: &File) -> bool {
    // JSON is rarely longer than YAML, and serializing it takes time.
    file.size > MAX_OBJECT_SIZE
        && file
            .document()
            .is_some_and(|tree| tree.root().to_json().to_string().len() as u64 > MAX_OBJECT_SIZE)
}

/// The rules of this directory, sorted by id.
pub(super) static RULES: &[&Rule] = &[
    &annotation_empty::RULE,
    &annotation_missing::RULE,
    &annotation_not_text::RULE,
    &annotations_missing::RULE,
    &api_version_invalid::RULE,
    &bundle_nearly_too_large::RULE,
    &bundle_too_large::RULE,
    &channel_blank::RULE,
    &csv_missing::RULE,
    &csv_several::RULE,
    &default_channel_unlisted::RULE,
    &directory_in_manifests::RULE,
    &document_empty::RULE,
    &document_not_object::RULE,
    &document_unread::RULE,
    &file_hidden::RULE,
    &file_large::RULE,
    &generate_name_used::RULE,
    &json_not_yaml::RULE,
    &manifest_lost::RULE,
    &manifests_elsewhere::RULE,
    &manifests_missing::RULE,
    &media_type_wrong::RULE,
    &metadata_elsewhere::RULE,
    &metadata_unread::RULE,
    &object_too_large::RULE,
    &package_empty::RULE,
    &package_name_invalid::RULE,
    &unsupported_kind::RULE,
    &yaml_duplicate_key::RULE,
    &yaml_syntax::RULE,
];
