//! What registries answer about the images of a bundle. Nothing is found unless they were asked.

mod unavailable;

super::rule::rule_files! {
    image_not_checked,
    image_not_found,
    related_image_not_found,
}
