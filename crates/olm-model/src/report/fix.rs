//! How a finding can be fixed without its author: one change of the document, named by its place.
//!
//! A fix says what to change, not which bytes: [`crate::fix`] finds them in the source text.

use serde::{Deserialize, Serialize};

use kube_yaml::edit::{Location, PathStep};
use kube_yaml::{Path, Position, Step};

/// Whether a fix keeps what the author meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Safety {
    /// There is no other way to fix the finding, or none with another meaning.
    Safe,
    /// The fix is likely what the author meant, but requires review.
    Unsafe,
}

/// A change of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// Replaces a scalar by a string, in quotes where YAML requires them.
    SetString(String),
    /// Replaces a scalar by text without quotes, such as `true`.
    SetLiteral(String),
    /// Adds an entry with a string to a map.
    Insert(String, String),
    /// Renames the key of an entry.
    Rename(String),
    /// Removes an entry of a map, or an item of a list.
    Remove,
    /// Removes an entry of a map whose key a later entry has, too.
    RemoveDuplicate,
    /// Sets a label of a Dockerfile.
    SetLabel(String, String),
    /// Replaces the `olm.bundle.object` properties of a bundle in a catalog with `olm.csv.metadata`.
    ObjectsToMetadata,
    /// Replaces the tabs that indent lines with spaces, in a document that cannot be read otherwise.
    ReplaceTabs,
}

/// One way to fix a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fix {
    /// Whether the fix keeps what the author meant.
    pub safety: Safety,
    /// What the fix does, as an instruction: ``set `kind` to `Gizmo` ``.
    pub title: String,
    /// The file below the directory of the bundle, if it is not that of the finding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// What it changes.
    #[serde(skip)]
    pub place: Location,
    /// The change.
    #[serde(skip)]
    pub change: Change,
}

impl Fix {
    /// Returns whether the fix removes the whole document that it is for.
    #[must_use]
    pub fn removes_document(&self) -> bool {
        self.change == Change::Remove && matches!(&self.place, Location::Path(steps) if steps.is_empty())
    }

    /// Returns a fix of the value at a path.
    #[must_use]
    pub fn new(safety: Safety, path: &Path<'_>, change: Change) -> Self {
        let mut place = Vec::new();
        for step in path.steps() {
            match step {
                Step::Field(names) => {
                    place.extend(names.split('.').map(|name| PathStep::Key(name.to_owned())));
                }
                Step::Key(name) => place.push(PathStep::Key(name.to_owned())),
                Step::Index(index) => place.push(PathStep::Index(index)),
            }
        }
        let title = title(&path.to_string(), &change);
        Self { safety, title, file: None, place: Location::Path(place), change }
    }

    /// Returns a fix of the entry or the scalar at a position; `what` names it.
    #[must_use]
    pub fn at(safety: Safety, position: Position, what: &str, change: Change) -> Self {
        Self { safety, title: title(what, &change), file: None, place: Location::Position(position), change }
    }

    /// Returns the fix that sets a label of a Dockerfile.
    #[must_use]
    pub fn label(key: &str, value: &str) -> Self {
        let change = Change::SetLabel(key.to_owned(), value.to_owned());
        Self {
            safety: Safety::Safe,
            title: title(key, &change),
            file: None,
            place: Location::Path(Vec::new()),
            change,
        }
    }

    /// Returns the fix, but of another file than that of the finding.
    #[must_use]
    pub fn in_file(self, file: &str) -> Self {
        Self { file: Some(file.to_owned()), ..self }
    }

    /// Returns the fix, but as one that has to be reviewed.
    #[must_use]
    pub fn reviewed(self) -> Self {
        Self { safety: Safety::Unsafe, ..self }
    }
}

fn title(what: &str, change: &Change) -> String {
    match change {
        Change::SetString(text) => format!("set `{what}` to the string `{text}`"),
        Change::SetLiteral(text) => format!("set `{what}` to `{text}`"),
        Change::Insert(key, text) if what.is_empty() => format!("add `{key}: {text}`"),
        Change::Insert(key, text) => format!("add `{key}: {text}` to `{what}`"),
        Change::Rename(name) => format!("rename `{what}` to `{name}`"),
        Change::Remove | Change::RemoveDuplicate => format!("remove `{what}`"),
        Change::SetLabel(_, text) => format!("set the label `{what}` to `{text}`"),
        Change::ObjectsToMetadata => format!("replace `{what}`"),
        Change::ReplaceTabs => "indent with spaces instead of tabs".to_owned(),
    }
}
