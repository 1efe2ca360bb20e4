//! One problem of a catalog: which rule, where, what is wrong and what to do.

use std::sync::Arc;

use serde::Serialize;

use crate::model::text::{sentence, shortened};
use crate::report::{Fix, Severity};

/// A rule of `catalog validate`.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// The rule's name, after the defect.
    pub id: &'static str,
    /// Whether opm rejects the catalog.
    pub severity: Severity,
    /// What the rule looks for.
    pub what: &'static str,
    /// What to do.
    pub help: &'static str,
    /// Where the rule comes from.
    pub source: &'static str,
}

impl Rule {
    /// Returns the rule as a page in Markdown: what it looks for, what to do, where it comes from.
    #[must_use]
    pub fn page(&self) -> String {
        let Self { id, severity, what, help, source } = self;
        let by = if *severity == Severity::Error { " · rejected by opm" } else { "" };
        format!(
            "# {id}\n\n**{severity}** · `catalog validate`{by}\n\n## What\n\n{what}\n\n## How to fix\n\n{}\n\n\
             ## Source\n\n- {source}\n",
            sentence(help)
        )
    }
}

/// A place in a file of the catalog.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file's path below the catalog.
    pub file: Arc<str>,
    /// The line, from 1; 0 for the file as a whole.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

/// A defect at one place.
#[derive(Debug, Clone)]
pub struct Problem {
    /// The rule.
    pub rule: &'static Rule,
    /// What is wrong.
    pub message: String,
    /// Where.
    pub place: Place,
    /// The field below the document's root; empty for the document as a whole.
    pub path: String,
    /// What to do here, where more is known than [`Rule::help`] or the fix says.
    pub proposal: Option<String>,
    /// How to fix the problem in the document that it is in.
    pub fix: Option<Box<Fix>>,
}

/// The maximum number of characters of a message or a path: they quote names from the catalog.
const MAX_TEXT: usize = 500;

impl Problem {
    /// Returns a problem; what is too long is shortened.
    pub(super) fn new(rule: &'static Rule, place: Place, path: &str, message: &str) -> Self {
        let (path, message) =
            (shortened(path, MAX_TEXT).into_owned(), shortened(message, MAX_TEXT).into_owned());
        Self { rule, message, place, path, proposal: None, fix: None }
    }

    /// Adds what to do here.
    pub(super) fn propose(mut self, proposal: Option<String>) -> Self {
        self.proposal = proposal.map(|text| shortened(&text, MAX_TEXT).into_owned());
        self
    }

    /// Adds how to fix the problem.
    pub(super) fn fix(mut self, fix: Option<Fix>) -> Self {
        self.fix = fix.map(Box::new);
        self
    }

    /// Returns what to do.
    #[must_use]
    pub fn help(&self) -> &str {
        let of_fix = self.fix.as_ref().map(|fix| fix.title.as_str());
        self.proposal.as_deref().or(of_fix).unwrap_or(self.rule.help)
    }
}

/// The form of a [`Problem`] in JSON.
#[derive(Serialize)]
struct Json<'a> {
    rule: &'a str,
    severity: Severity,
    message: &'a str,
    help: &'a str,
    file: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u32>,
    #[serde(skip_serializing_if = "str::is_empty")]
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<&'a Fix>,
}

impl Serialize for Problem {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let of_line = |number: u32| (self.place.line > 0).then_some(number);
        Json {
            rule: self.rule.id,
            severity: self.rule.severity,
            message: &self.message,
            help: self.help(),
            file: &self.place.file,
            line: of_line(self.place.line),
            column: of_line(self.place.column),
            path: &self.path,
            fix: self.fix.as_deref(),
        }
        .serialize(serializer)
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            0 => f.write_str(&self.file),
            line => write!(f, "{}:{line}:{}", self.file, self.column),
        }
    }
}
