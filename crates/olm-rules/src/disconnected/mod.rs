//! The suite `disconnected`: what an operator needs in a cluster that has no access to public registries.

mod sources;

super::rule::rule_files! {
    disconnected_image_unlisted,
    disconnected_image_unpinned,
    disconnected_related_image_unpinned,
    disconnected_related_images_missing,
    disconnected_undeclared,
    disconnected_variable_missing,
}
