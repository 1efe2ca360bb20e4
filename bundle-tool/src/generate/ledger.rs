//! The objects of the input: where each is, where it went, and notes about it.

use std::borrow::Cow;
use std::fmt;

use crate::model::Severity;
use crate::model::text::shortened;
use crate::model::yaml::Position;

/// The maximum number of notes that are kept; further ones are counted.
pub(super) const MAX_NOTES: usize = 1_000;
/// The maximum length of a name or a path in a note, in characters. Kubernetes' names have at most 253.
const MAX_QUOTE: usize = 300;

/// Returns the beginning of a foreign name or path, for messages.
pub(super) fn clip(text: &str) -> Cow<'_, str> {
    shortened(text, MAX_QUOTE)
}

/// A position in a file of the input.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file's path as shown to the user.
    pub file: String,
    /// The line and column.
    pub position: Position,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.position.line, self.position.column)
    }
}

/// A message about the input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The severity: a warning if the bundle lacks something that the input has, or does not work as intended.
    pub severity: Severity,
    /// The message, with what to do.
    pub message: String,
    /// Where it is.
    pub place: Option<Place>,
}

/// Where an object went.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fate {
    /// Into this field of the CSV.
    Csv(String),
    /// Into this file of the bundle.
    File(String),
    /// Nowhere, for this reason.
    Omitted(String),
}

impl fmt::Display for Fate {
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
pub struct Source {
    /// Where it is.
    pub place: Place,
    /// `apiVersion`
    pub api_version: String,
    /// `kind`
    pub kind: String,
    /// `metadata.name`
    pub name: String,
    /// Where it went.
    pub fates: Vec<Fate>,
}

impl Source {
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
pub struct Ledger {
    /// The objects in the order in which they were read.
    pub sources: Vec<Source>,
    /// The first 1,000 notes, in order.
    pub notes: Vec<Note>,
    /// The number of further warnings.
    pub more_warnings: usize,
}

impl Ledger {
    /// Returns whether there is a warning.
    #[must_use]
    pub fn has_warnings(&self) -> bool {
        self.more_warnings > 0 || self.notes.iter().any(|note| note.severity == Severity::Warning)
    }

    pub(super) fn warn(&mut self, source: usize, message: impl Into<String>) {
        let place = self.sources.get(source).map(|source| source.place.clone());
        self.warn_at(place, message);
    }

    pub(super) fn warn_at(&mut self, place: Option<Place>, message: impl Into<String>) {
        if self.notes.len() < MAX_NOTES {
            self.notes.push(Note { severity: Severity::Warning, message: message.into(), place });
        } else {
            self.more_warnings += 1;
        }
    }

    pub(super) fn inform(&mut self, place: Option<Place>, message: impl Into<String>) {
        if self.notes.len() < MAX_NOTES {
            self.notes.push(Note { severity: Severity::Info, message: message.into(), place });
        }
    }

    /// Counts further warnings without their messages.
    pub(super) fn omit_warnings(&mut self, count: usize) {
        self.more_warnings += count;
    }

    /// Returns the place of an object; an empty one if it does not come from a file.
    pub(super) fn place(&self, source: usize) -> Place {
        match self.sources.get(source) {
            Some(source) => source.place.clone(),
            None => Place { file: String::new(), position: Position::default() },
        }
    }

    pub(super) fn fate(&mut self, source: usize, fate: Fate) {
        if let Some(source) = self.sources.get_mut(source)
            && !source.fates.contains(&fate)
        {
            source.fates.push(fate);
        }
    }

    pub(super) fn title(&self, source: usize) -> String {
        self.sources.get(source).map(Source::title).unwrap_or_default()
    }

    /// Marks objects that went nowhere as omitted.
    pub(super) fn close(&mut self) {
        for source in &mut self.sources {
            if source.fates.is_empty() {
                source.fates.push(Fate::Omitted("nothing in a bundle is generated from it".to_owned()));
            }
        }
    }
}
