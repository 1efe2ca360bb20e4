//! What a pull request to a catalog's repository changes: `operators/NAME/VERSION`, `catalogs/VERSION/NAME` and other files.

use std::collections::BTreeSet;

/// What a pull request changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PullRequest {
    /// The operators in whose directories files changed.
    pub operators: BTreeSet<String>,
    /// The bundles that changed, by operator and version.
    pub bundles: Vec<ChangedBundle>,
    /// The directories of operators in catalogs in which files changed: `catalogs/v4.16/gizmo-operator`.
    pub catalogs: BTreeSet<String>,
    /// Changed files elsewhere.
    pub foreign: Vec<String>,
}

/// A bundle that a pull request changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedBundle {
    /// The name of the operator's directory.
    pub operator: String,
    /// The name of the bundle's directory.
    pub version: String,
    /// What becomes of it.
    pub change: BundleChange,
}

/// What becomes of a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BundleChange {
    /// It is new.
    Added,
    /// It existed before, and still does.
    Modified,
    /// It is gone.
    Deleted {
        /// Whether the operator was published as a file-based catalog before.
        uses_catalog: bool,
        /// The files of catalogs that still have the bundle.
        used_by: Vec<String>,
    },
}

impl ChangedBundle {
    /// Returns the bundle's directory.
    #[must_use]
    pub fn path(&self) -> String {
        format!("operators/{}/{}", self.operator, self.version)
    }
}

impl PullRequest {
    /// Returns the directories of the bundles that are new.
    pub fn added(&self) -> impl Iterator<Item = &ChangedBundle> {
        self.bundles.iter().filter(|bundle| bundle.change == BundleChange::Added)
    }
}
