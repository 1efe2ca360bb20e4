//! Images that are not mirrored.

use std::cell::Cell;
use std::collections::HashMap;

use oci_images::registry::Reference;
use regex::RegexSet;

/// The values of `--skip`, which are names of images, and repositories without a tag; and the patterns of the blocked images of a
/// configuration.
#[derive(Debug, Default)]
pub(crate) struct Skips {
    patterns: RegexSet,
    has_matched: Vec<Cell<bool>>,
    all: Vec<Skip>,
    /// The numbers of the values, by their text.
    by_text: HashMap<String, Vec<usize>>,
    /// The numbers of those that are names, by registry and repository.
    by_repository: HashMap<(String, String), Vec<usize>>,
}

#[derive(Debug)]
struct Skip {
    text: String,
    /// `None` for all images of the repository.
    version: Option<String>,
    has_matched: Cell<bool>,
}

impl Skips {
    pub(crate) fn new(texts: impl IntoIterator<Item = String>, patterns: RegexSet) -> Self {
        let has_matched = vec![Cell::new(false); patterns.len()];
        let mut skips = Self { patterns, has_matched, ..Self::default() };
        for text in texts {
            let index = skips.all.len();
            let mut version = None;
            // Bundles may contain values that are not the name of an image, too.
            if let Ok(name) = text.parse::<Reference>() {
                let is_repository = name.tag().is_none() && name.digest().is_none();
                version = (!is_repository).then(|| name.version().to_owned());
                skips.by_repository.entry(repository_of(&name)).or_default().push(index);
            }
            skips.by_text.entry(text.clone()).or_default().push(index);
            skips.all.push(Skip { text, version, has_matched: Cell::new(false) });
        }
        skips
    }

    /// Returns whether an image is skipped, under whichever name it is written: `nginx` is `docker.io/library/nginx`.
    pub(crate) fn contain(&self, image: &str) -> bool {
        let mut matching = self.by_text.get(image).cloned().unwrap_or_default();
        let mut blocking: Vec<usize> = self.patterns.matches(image).into_iter().collect();
        if let Ok(image) = image.parse::<Reference>() {
            blocking.extend(self.patterns.matches(&image.to_string()));
            let same = self.by_repository.get(&repository_of(&image)).into_iter().flatten().copied();
            matching.extend(same.filter(|index| {
                let version = &self.all[*index].version;
                version.as_ref().is_none_or(|version| version == image.version())
            }));
        }
        for index in &blocking {
            self.has_matched[*index].set(true);
        }
        for index in &matching {
            self.all[*index].has_matched.set(true);
        }
        !matching.is_empty() || !blocking.is_empty()
    }

    /// Returns the patterns of blocked images that no image matched.
    pub(crate) fn unused_patterns(&self) -> impl Iterator<Item = &str> {
        let patterns = self.patterns.patterns().iter().zip(&self.has_matched);
        patterns.filter(|(_, has_matched)| !has_matched.get()).map(|(pattern, _)| pattern.as_str())
    }

    /// Returns the values of `--skip` that no image matched.
    pub(crate) fn unused(&self) -> impl Iterator<Item = &str> {
        self.all.iter().filter(|skip| !skip.has_matched.get()).map(|skip| skip.text.as_str())
    }
}

fn repository_of(image: &Reference) -> (String, String) {
    (image.registry().to_owned(), image.repository().to_owned())
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
            let skips = Skips::new([skip.to_owned()], RegexSet::empty());
            assert_eq!(skips.contain(image), expected, "{skip} {image}");
            assert_eq!(skips.unused().next().is_none(), expected);
        }
    }

    #[test]
    fn blocked_images_are_patterns() {
        for (pattern, image, expected) in [
            ("quay.io/a/b", "quay.io/a/b:v1", true),
            ("quay.io/a/b", "quay.io/a/big:v1", true),
            ("^quay.io/a/b:", "quay.io/a/big:v1", false),
            ("^docker.io/library/", "nginx:1.29", true),
            ("(alpha|beta)[0-9]*$", "quay.io/a/b:v1-beta2", true),
            ("^a/b", "quay.io/a/b:v1", false),
            ("not an image$", "this is not an image", true),
        ] {
            let skips = Skips::new([], RegexSet::new([pattern, "other"]).unwrap());
            assert_eq!(skips.contain(image), expected, "{pattern} {image}");
            let unused: Vec<&str> = skips.unused_patterns().collect();
            assert_eq!(unused, if expected { vec!["other"] } else { vec![pattern, "other"] });
        }
    }
}
