//! The files of a scaffold, as values.

use std::collections::BTreeMap;

/// A file of the scaffold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScaffoldFile {
    /// The path relative to the project, with `/`.
    pub path: String,
    /// What it holds.
    pub text: String,
}

/// The files of a scaffold by an id that stays the same when a file moves.
pub type Files = BTreeMap<String, ScaffoldFile>;
