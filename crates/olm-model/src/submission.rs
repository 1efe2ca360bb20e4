//! Where a bundle is in a catalog's repository: `operators/NAME/VERSION`, with `ci.yaml` and the operator's other bundles.

use super::document::Document;
use super::file::File;
use kube_yaml::Value;

/// The directory of an operator, as seen from one of its bundles.
#[derive(Debug, Default)]
pub struct RepositoryContext {
    /// The name of the operator's directory.
    pub operator: String,
    /// The name of the bundle's directory.
    pub version: String,
    /// `ci.yaml`, with its path from the bundle: `../ci.yaml`.
    pub ci: Option<Document>,
    /// `release-config.yaml` of the bundle.
    pub release: Option<Document>,
    /// The operator's other bundles, by directory.
    pub siblings: Vec<PublishedVersion>,
    /// The files that these documents are from, to show them with findings.
    pub files: Vec<File>,
}

/// Another bundle of an operator.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PublishedVersion {
    /// The name of its directory.
    pub directory: String,
    /// The name of its CSV; empty if it has none.
    pub name: String,
    /// The package that its annotations name.
    pub package: String,
    /// Its annotation `com.redhat.openshift.versions`.
    pub openshift_versions: Option<String>,
}

/// The path of `ci.yaml`, from a bundle.
pub const CI: &str = "../ci.yaml";
/// The path of the configuration of a bundle's release, from the bundle.
pub const RELEASE: &str = "release-config.yaml";

impl PublishedVersion {
    /// Returns the operator's name and the version in the CSV's name, without `v`.
    #[must_use]
    pub fn parts(&self) -> Option<(&str, &str)> {
        split_name(&self.name)
    }
}

/// Returns the operator's name and the version in the name of a CSV, without `v`.
#[must_use]
pub fn split_name(csv: &str) -> Option<(&str, &str)> {
    csv.split_once('.').map(|(name, version)| (name, version.trim_start_matches('v')))
}

impl RepositoryContext {
    /// Returns the root of `ci.yaml`.
    #[must_use]
    pub fn config(&self) -> Option<Value<'_>> {
        Some(self.ci.as_ref()?.tree.root())
    }

    /// Returns whether the operator is published as a file-based catalog, to which other checks apply.
    #[must_use]
    pub fn uses_catalog(&self) -> bool {
        let enabled = self.config().and_then(|root| root.dig(&["fbc", "enabled"]));
        enabled.and_then(Value::as_bool) == Some(true)
    }
}
