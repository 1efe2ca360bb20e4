//! One random object: what is valid of it, what is changed, and what its expressions use.

use serde_json::Value;

use super::edit::Edit;
use super::subject::{Subject, changed};

/// One object, and what was changed.
#[derive(Debug, Clone)]
pub struct Case {
    /// The kind's name.
    pub kind: &'static str,
    /// How a bundle contains it.
    pub subject: Subject,
    /// The seed of this object.
    pub seed: u64,
    /// The valid object.
    pub object: Value,
    /// What is changed.
    pub change: Option<Change>,
    /// The CEL functions of the object, if it has expressions; the last one is the one that was changed.
    pub cel: Option<Used>,
}

/// What was changed in an object.
#[derive(Debug, Clone)]
pub struct Change {
    /// The field, as reports name it.
    pub pattern: String,
    /// The name of the change among those of its field.
    pub name: String,
    /// The change.
    pub edit: Edit,
}

/// What a CRD's expressions use.
#[derive(Debug, Clone)]
pub struct Used {
    /// The functions of the rule, each once.
    pub functions: Vec<&'static str>,
    /// The function whose call is defective, where it is a call that is.
    pub defective: Option<&'static str>,
    /// The kind of defect; `None` if there is none.
    pub defect: Option<&'static str>,
}

impl Case {
    /// The object with its change.
    #[must_use]
    pub fn changed(&self) -> Value {
        changed(&self.object, self.change.as_ref().map(|change| &change.edit))
    }
}
