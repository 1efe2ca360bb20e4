//! The files of a bundle or an index image, with what its labels say of them.

use std::collections::BTreeMap;

use super::{Error, Image, Limits, extract};

/// Where a bundle's manifests lie (operator-registry, registry+v1 labels).
const MANIFESTS: &str = "operators.operatorframework.io.bundle.manifests.v1";
/// Where a bundle's `annotations.yaml` lies.
const METADATA: &str = "operators.operatorframework.io.bundle.metadata.v1";
/// Where a bundle's scorecard configuration lies.
const SCORECARD: &str = "operators.operatorframework.io.test.config.v1";
/// Where an index image's catalogue lies.
pub(crate) const CONFIGS: &str = "operators.operatorframework.io.index.configs.v1";

/// What was read out of an image.
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
    /// Reads the files that the labels of `image` speak of; all layers must be at hand.
    ///
    /// # Errors
    ///
    /// What [`extract`] says.
    pub fn read(image: &Image) -> Result<Self, Error> {
        let files = extract(image.layers(), &wanted_by_labels(image.labels()), Limits::default())?;
        Ok(Self { digest: image.digest().to_string(), labels: image.labels().clone(), files })
    }
}

/// The paths that the labels of a bundle or an index image speak of; without labels, those that are usual.
#[must_use]
pub fn wanted_by_labels(labels: &BTreeMap<String, String>) -> Vec<String> {
    if let Some(configs) = labels.get(CONFIGS) {
        return vec![configs.clone()];
    }
    let path = |label: &str, usual: &str| labels.get(label).cloned().unwrap_or_else(|| usual.to_owned());
    let mut wanted =
        vec![path(MANIFESTS, "manifests/"), path(METADATA, "metadata/"), path(SCORECARD, "tests/")];
    wanted.push("tests/".to_owned());
    wanted.dedup();
    wanted
}
