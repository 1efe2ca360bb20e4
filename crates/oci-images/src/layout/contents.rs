//! The files of a bundle or index image that its labels name.

use std::collections::BTreeMap;

use super::error::Error;
use super::extract::{Limits, extract};
use super::image::Image;
use crate::labels::{CONFIGS, MANIFESTS, METADATA, SCORECARD_CONFIG};

/// The files and labels of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// The digest of the image's manifest.
    pub digest: String,
    /// The labels of its configuration.
    pub labels: BTreeMap<String, String>,
    /// The files, by their paths in the image without a leading `/`.
    pub files: BTreeMap<String, Vec<u8>>,
}

impl Contents {
    /// Reads the files that the labels of `image` name, within [`Limits::catalog`] for an index image and
    /// [`Limits::bundle`] otherwise. All layers must be present.
    ///
    /// # Errors
    ///
    /// Those of [`extract`].
    pub fn read(image: &Image) -> Result<Self, Error> {
        let is_catalog = image.labels().contains_key(CONFIGS);
        let limits = if is_catalog { Limits::catalog() } else { Limits::bundle() };
        let files = extract(image.layers(), &wanted_by_labels(image.labels()), limits)?;
        Ok(Self { digest: image.digest().to_string(), labels: image.labels().clone(), files })
    }

    /// Returns whether this is an index image.
    #[must_use]
    pub fn is_catalog(&self) -> bool {
        self.labels.contains_key(CONFIGS)
    }

    /// Returns the files by their paths in a bundle directory: the labels may name other directories in the image.
    #[must_use]
    pub fn into_bundle(self) -> BTreeMap<String, Vec<u8>> {
        let Self { labels, files, .. } = self;
        let moves: Vec<(String, &str)> = [(MANIFESTS, "manifests/"), (METADATA, "metadata/")]
            .into_iter()
            .filter_map(|(label, usual)| Some((format!("{}/", labels.get(label)?.trim_matches('/')), usual)))
            .collect();
        let place = |path: String| {
            moves
                .iter()
                .find_map(|(from, to)| Some(format!("{to}{}", path.strip_prefix(from.as_str())?)))
                .unwrap_or(path)
        };
        files.into_iter().map(|(path, bytes)| (place(path), bytes)).collect()
    }
}

/// Returns the paths that the labels of a bundle or index image name, or the usual ones if it has no such labels.
#[must_use]
pub(crate) fn wanted_by_labels(labels: &BTreeMap<String, String>) -> Vec<String> {
    if let Some(configs) = labels.get(CONFIGS) {
        return vec![configs.clone()];
    }
    let path = |label: &str, usual: &str| labels.get(label).cloned().unwrap_or_else(|| usual.to_owned());
    let mut wanted =
        vec![path(MANIFESTS, "manifests/"), path(METADATA, "metadata/"), path(SCORECARD_CONFIG, "tests/")];
    wanted.push("tests/".to_owned());
    wanted.dedup();
    wanted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn labels_name_what_is_read() {
        assert_eq!(wanted_by_labels(&labels(&[])), ["manifests/", "metadata/", "tests/"]);
        assert_eq!(wanted_by_labels(&labels(&[(CONFIGS, "/configs")])), ["/configs"]);
        let elsewhere = labels(&[
            (MANIFESTS, "/deploy/olm/"),
            (METADATA, "meta"),
            (SCORECARD_CONFIG, "tests/scorecard/"),
        ]);
        assert_eq!(wanted_by_labels(&elsewhere), ["/deploy/olm/", "meta", "tests/scorecard/", "tests/"]);
    }

    #[test]
    fn bundle_has_the_usual_paths_wherever_its_files_are() {
        let files = ["deploy/olm/a.yaml", "meta/annotations.yaml", "tests/x"];
        let contents = Contents {
            digest: String::new(),
            labels: labels(&[(MANIFESTS, "/deploy/olm/"), (METADATA, "meta")]),
            files: files.iter().map(|path| ((*path).to_owned(), Vec::new())).collect(),
        };
        let paths: Vec<_> = contents.into_bundle().into_keys().collect();
        assert_eq!(paths, ["manifests/a.yaml", "metadata/annotations.yaml", "tests/x"]);
    }
}
