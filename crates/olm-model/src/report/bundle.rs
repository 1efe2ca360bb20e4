//! The findings of a bundle or a catalog, or the reason why it was not validated.

use serde::Serialize;

use super::finding::Finding;

/// The findings of one bundle.
#[derive(Debug)]
pub struct BundleReport {
    /// The directory or image as the user named it.
    pub path: String,
    /// Where files beside the bundle (`../ci.yaml`) are; `None` if only `path` leads there.
    pub parent: Option<String>,
    /// The CSV's name, if there is a CSV.
    pub name: Option<String>,
    /// The package that `annotations.yaml` names, if it names one.
    pub package: Option<String>,
    /// The findings, sorted by file, place and rule.
    pub findings: Vec<Finding>,
}

/// The findings of one catalog, and what it contains.
#[derive(Debug)]
pub struct CatalogReport {
    /// The directory, file or image as the user named it.
    pub path: String,
    /// The names of its packages, sorted.
    pub packages: Vec<String>,
    /// How many channels it has.
    pub channels: usize,
    /// How many bundles it has.
    pub bundles: usize,
    /// The findings, sorted by file, place and rule.
    pub findings: Vec<Finding>,
}

/// A bundle or a catalog that was not validated.
#[derive(Debug, Clone, Serialize)]
pub struct UnreadBundle {
    /// The directory or image as the user named it.
    pub path: String,
    /// Why it could not be read.
    pub message: String,
}

impl BundleReport {
    /// Returns whether no finding is an error that counts.
    #[must_use]
    pub fn passed(&self) -> bool {
        !self.findings.iter().any(Finding::is_failure)
    }
}

impl CatalogReport {
    /// Returns whether no finding is an error that counts.
    #[must_use]
    pub fn passed(&self) -> bool {
        !self.findings.iter().any(Finding::is_failure)
    }
}
