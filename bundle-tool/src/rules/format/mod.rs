//! The format of a bundle: directories, files, annotations and documents.

mod annotations;
mod size;

super::rule::rule_files! {
    annotation_empty,
    annotation_missing,
    annotation_not_text,
    annotations_missing,
    api_version_invalid,
    bundle_nearly_too_large,
    bundle_too_large,
    channel_blank,
    csv_missing,
    csv_several,
    default_channel_unlisted,
    directory_in_manifests,
    document_empty,
    document_not_object,
    document_unread,
    file_hidden,
    file_large,
    generate_name_used,
    json_not_yaml,
    manifest_lost,
    manifests_elsewhere,
    manifests_missing,
    media_type_wrong,
    metadata_elsewhere,
    metadata_unread,
    object_too_large,
    package_empty,
    package_name_invalid,
    unsupported_kind,
    yaml_duplicate_key,
    yaml_syntax,
}
