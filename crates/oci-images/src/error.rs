//! Why an image cannot be read, written or copied between two places.

#[cfg(feature = "sign")]
use std::path::PathBuf;

use crate::layout::{self, Platform};
use crate::reference::Reference;
use crate::registry;

/// An image could not be read, written or copied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A registry could not be used.
    #[error(transparent)]
    Registry(#[from] registry::Error),
    /// A layout or an archive could not be used.
    #[error(transparent)]
    Layout(#[from] layout::Error),
    /// The image is not for the requested platform, or an index contains no image for it.
    #[error("{place} contains no image for {platform}; found: {found}")]
    NoPlatform {
        /// Where the image or the index is.
        place: String,
        /// The requested platform.
        platform: Platform,
        /// The platforms that it is for.
        found: String,
    },
    /// A location is not named.
    #[error("expected a path after `{0}:`")]
    NoPath(&'static str),
    /// A path on this machine is given where an image is expected.
    #[error("{}", local_path(.0))]
    Path(String),
    /// Several images are copied from or to a place that has only one.
    #[error("{place} is neither an OCI layout nor an OCI archive")]
    NotALayout {
        /// The place.
        place: String,
    },
    /// A signature policy rejects the image.
    #[cfg(feature = "sign")]
    #[error("{place} is rejected by the signature policy {}: {reason}", .policy.display())]
    Rejected {
        /// The image.
        place: String,
        /// The file of the policy.
        policy: PathBuf,
        /// What the image lacks.
        reason: String,
    },
    /// The copy would be the image itself.
    #[error("cannot copy {place} to itself: choose another directory or name")]
    SameImage {
        /// The image.
        place: String,
    },
    /// The copy would replace a file of the image that is copied.
    #[error("cannot copy {from} to {to}: that would overwrite a file of the image; choose another file")]
    Overlap {
        /// The image.
        from: String,
        /// The file.
        to: String,
    },
}

/// Returns the error for a path, with the names of images that it may stand for.
fn local_path(path: &str) -> String {
    let local = format!("`{path}` is a path on this machine; use `oci:{path}` for an OCI layout");
    let archive = format!("`oci-archive:{path}` for an archive");
    if path.parse::<Reference>().is_ok() {
        format!("{local}, {archive}, or `docker://{path}` for an image with this name in a registry")
    } else {
        format!("{local}, or {archive}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_in_a_registry_is_suggested_only_if_it_is_valid() {
        let error = |path: &str| Error::Path(path.to_owned()).to_string();
        assert_eq!(
            error("./bundle"),
            "`./bundle` is a path on this machine; use `oci:./bundle` for an OCI layout, or `oci-archive:./bundle` for an archive"
        );
        assert!(
            error("bundle").ends_with(", or `docker://bundle` for an image with this name in a registry")
        );
    }
}
