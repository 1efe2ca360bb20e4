//! Images that are not mirrored.

use std::cell::Cell;

use oci_images::registry::Reference;

/// A value of `--skip`, or a blocked image of a configuration: the name of an image, or a repository without a tag.
#[derive(Debug)]
pub(crate) struct Skip {
    text: String,
    /// `None` if the value is not the name of an image. Bundles may contain such values, too.
    name: Option<Reference>,
    has_matched: Cell<bool>,
}

impl Skip {
    pub(crate) fn new(text: String) -> Self {
        Self { name: text.parse().ok(), text, has_matched: Cell::new(false) }
    }

    /// Returns whether an image is skipped, under whichever name it is written: `nginx` is `docker.io/library/nginx`.
    pub(crate) fn matches(&self, image: &str) -> bool {
        let is_named = || {
            let (Some(name), Ok(image)) = (&self.name, image.parse::<Reference>()) else { return false };
            let is_repository = name.tag().is_none() && name.digest().is_none();
            (name.registry(), name.repository()) == (image.registry(), image.repository())
                && (is_repository || name.version() == image.version())
        };
        let is_match = self.text == image || is_named();
        self.has_matched.set(self.has_matched.get() || is_match);
        is_match
    }

    /// Returns the value if no image matched it.
    pub(crate) fn unused(&self) -> Option<&str> {
        (!self.has_matched.get()).then_some(self.text.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn image_is_skipped_under_each_of_its_names() {
        for (skip, image, expected) in [
            ("nginx", "docker.io/library/nginx:1.29", true),
            ("docker.io/nginx:1.29", "nginx:1.29", true),
            ("nginx:1.28", "nginx:1.29", false),
            (
                "quay.io/a/b",
                "quay.io/a/b@sha256:0000000000000000000000000000000000000000000000000000000000000000",
                true,
            ),
            ("quay.io/a", "quay.io/a/b:v1", false),
            ("not an image", "not an image", true),
        ] {
            let skip = Skip::new(skip.to_owned());
            assert_eq!(skip.matches(image), expected, "{skip:?} {image}");
            assert_eq!(skip.unused().is_none(), expected);
        }
    }
}
