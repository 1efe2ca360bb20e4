//! The media types of icons.

use olm_model::report::suggest::unknown;

/// The media types that catalogs show.
pub(crate) const SUPPORTED: [&str; 4] = ["image/gif", "image/jpeg", "image/png", "image/svg+xml"];

/// Returns whether catalogs show images of this type.
pub(crate) fn is_supported(media_type: &str) -> bool {
    SUPPORTED.contains(&media_type)
}

/// Returns the message for a media type that catalogs do not show.
pub(crate) fn unsupported(media_type: &str) -> String {
    let name = media_type.trim().to_ascii_lowercase();
    let name = name.strip_prefix("image/").unwrap_or(&name);
    let meant = match name.trim_start_matches('.') {
        "svg" | "svg-xml" | "svg xml" | "svg_xml" | "svgxml" | "svg+html" | "x-svg" | "svg+xml" | "xml" => {
            "image/svg+xml"
        }
        "jpg" | "jpe" | "pjpeg" | "jpeg" => "image/jpeg",
        "x-png" | "png" => "image/png",
        "gif" => "image/gif",
        _ => return unknown("media type", media_type, &SUPPORTED),
    };
    format!("unknown media type `{media_type}`: did you mean `{meant}`?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_names_of_types_get_the_media_type() {
        for (name, meant) in
            [("image/svg", "image/svg+xml"), ("image/jpg", "image/jpeg"), ("PNG", "image/png")]
        {
            assert_eq!(unsupported(name), format!("unknown media type `{name}`: did you mean `{meant}`?"));
        }
        assert!(unsupported("image/bmp").contains("must be"));
    }
}
