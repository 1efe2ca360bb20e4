//! The objects of the input: where each is, where it went, and notes about it.

use std::borrow::Cow;
use std::fmt;

use kube_yaml::Position;
use kube_yaml::text::shortened;
use olm_model::Severity;

/// The maximum number of notes that are kept; further ones are counted.
pub(crate) const MAX_NOTES: usize = 1_000;
/// The maximum length of a name or a path in a note, in characters. Kubernetes' names have at most 253.
const MAX_QUOTE: usize = 300;

/// Returns the beginning of a foreign name or path, for messages.
pub(crate) fn clip(text: &str) -> Cow<'_, str> {
    shortened(text, MAX_QUOTE)
}

/// A position in a file of the input.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceLocation {
    /// The file's path as shown to the user.
    pub file: String,
    /// The line and column.
    pub position: Position,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.position.line, self.position.column)
    }
}

/// A message about the input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GenerateNote {
    /// The severity: a warning if the bundle lacks something that the input has, or does not work as intended.
    pub severity: Severity,
    /// The message, with what to do.
    pub message: String,
    /// Where it is.
    pub place: Option<SourceLocation>,
}

/// Where an object went.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ObjectOutcome {
    /// Into this field of the CSV.
    Csv(String),
    /// Into this file of the bundle.
    File(String),
    /// Nowhere, for this reason.
    Omitted(String),
}

impl fmt::Display for ObjectOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Csv(field) => write!(f, "CSV {field}"),
            Self::File(path) => f.write_str(path),
            Self::Omitted(reason) => write!(f, "omitted: {reason}"),
        }
    }
}

/// An object of the input.
#[derive(Debug, Clone)]
pub struct SourceObject {
    /// Where it is.
    pub place: SourceLocation,
    /// `apiVersion`
    pub api_version: String,
    /// `kind`
    pub kind: String,
    /// `metadata.name`
    pub name: String,
    /// Where it went.
    pub outcomes: Vec<ObjectOutcome>,
}

impl SourceObject {
    /// Returns the kind and the name, for messages.
    #[must_use]
    pub fn title(&self) -> String {
        match (clip(&self.kind).as_ref(), clip(&self.name).as_ref()) {
            ("", _) => "(a document)".to_owned(),
            (kind, "") => kind.to_owned(),
            (kind, name) => format!("{kind} {name}"),
        }
    }
}

/// All objects of the input, and the notes about them.
#[derive(Debug, Default)]
pub struct GenerateReport {
    /// The objects in the order in which they were read.
    pub sources: Vec<SourceObject>,
    /// The first 1,000 notes, in order.
    pub notes: Vec<GenerateNote>,
    /// The number of further warnings.
    pub more_warnings: usize,
}

impl GenerateReport {
    /// Returns whether there is a warning.
    #[must_use]
    pub fn has_warnings(&self) -> bool {
        self.more_warnings > 0 || self.notes.iter().any(|note| note.severity == Severity::Warning)
    }

    pub(crate) fn warn(&mut self, source: usize, message: impl Into<String>) {
        let place = self.sources.get(source).map(|source| source.place.clone());
        self.warn_at(place, message);
    }

    pub(crate) fn warn_at(&mut self, place: Option<SourceLocation>, message: impl Into<String>) {
        if self.notes.len() < MAX_NOTES {
            self.notes.push(GenerateNote { severity: Severity::Warning, message: message.into(), place });
        } else {
            self.more_warnings += 1;
        }
    }

    pub(crate) fn inform(&mut self, place: Option<SourceLocation>, message: impl Into<String>) {
        if self.notes.len() < MAX_NOTES {
            self.notes.push(GenerateNote { severity: Severity::Info, message: message.into(), place });
        }
    }

    /// Counts further warnings without their messages.
    pub(crate) fn omit_warnings(&mut self, count: usize) {
        self.more_warnings += count;
    }

    /// Returns the place of an object; an empty one if it does not come from a file.
    pub(crate) fn place(&self, source: usize) -> SourceLocation {
        match self.sources.get(source) {
            Some(source) => source.place.clone(),
            None => SourceLocation { file: String::new(), position: Position::default() },
        }
    }

    pub(crate) fn record(&mut self, source: usize, outcome: ObjectOutcome) {
        if let Some(source) = self.sources.get_mut(source)
            && !source.outcomes.contains(&outcome)
        {
            source.outcomes.push(outcome);
        }
    }

    pub(crate) fn title(&self, source: usize) -> String {
        self.sources.get(source).map(SourceObject::title).unwrap_or_default()
    }

    /// Marks objects that went nowhere as omitted.
    pub(crate) fn close(&mut self) {
        for source in &mut self.sources {
            if source.outcomes.is_empty() {
                source
                    .outcomes
                    .push(ObjectOutcome::Omitted("nothing in a bundle is generated from it".to_owned()));
            }
        }
    }
}
