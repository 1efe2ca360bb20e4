//! The findings of a bundle, or the reason why it was not validated.

use serde::Serialize;

use super::finding::Finding;

/// The findings of one bundle.
#[derive(Debug)]
pub struct BundleReport {
    /// The directory or image as the user named it.
    pub path: String,
    /// The CSV's name, if there is a CSV.
    pub name: Option<String>,
    /// The package that `annotations.yaml` names, if it names one.
    pub package: Option<String>,
    /// The findings, sorted by file, place and rule.
    pub findings: Vec<Finding>,
}

/// A bundle that was not validated.
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
