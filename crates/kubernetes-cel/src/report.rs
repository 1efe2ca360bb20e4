//! The problems of rules, and their positions.

use std::fmt::{self, Write as _};

/// A step from one schema to one that it contains.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// `properties[NAME]`.
    Property(String),
    /// `items`.
    Items,
    /// `additionalProperties`.
    AdditionalProperties,
}

/// The field of a rule that a problem is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Field {
    /// `rule`.
    Rule,
    /// `message`.
    Message,
    /// `messageExpression`.
    MessageExpression,
    /// `reason`.
    Reason,
    /// `fieldPath`.
    FieldPath,
    /// `optionalOldSelf`.
    OptionalOldSelf,
    /// No rule's field: the schema as a whole.
    Schema,
}

impl Field {
    /// The field's name in a rule.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rule => "rule",
            Self::Message => "message",
            Self::MessageExpression => "messageExpression",
            Self::Reason => "reason",
            Self::FieldPath => "fieldPath",
            Self::OptionalOldSelf => "optionalOldSelf",
            Self::Schema => "",
        }
    }
}

/// Something that the API server rejects.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The path from the root to the schema that contains the rule.
    pub path: Vec<Step>,
    /// The index of the rule in its schema; `None` for a problem of all rules together.
    pub rule: Option<usize>,
    /// Which field of the rule.
    pub field: Field,
    /// What is wrong, and what to do.
    pub message: String,
    /// Where in the expression, as line and column from 1.
    pub place: Option<(usize, usize)>,
}

/// Something wrong with a single expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong, and what to do.
    pub message: String,
    /// Where in the expression, as line and column from 1.
    pub place: Option<(usize, usize)>,
}

/// Everything wrong with a single expression, at least one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faults(pub Vec<Fault>);

impl fmt::Display for Faults {
    /// Writes the first fault; what follows is often its consequence.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(first) = self.0.first() else { return Ok(()) };
        f.write_str(&first.message)?;
        match first.place {
            Some((line, column)) => write!(f, " (line {line}, column {column} of the expression)"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Faults {}

/// What an expression costs at worst.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cost {
    /// The path from the root to the schema that contains the rule.
    pub path: Vec<Step>,
    /// Which of the schema's rules.
    pub rule: usize,
    /// `rule` or `messageExpression`.
    pub field: Field,
    /// The cost of one evaluation.
    pub estimate: u64,
    /// How often it can be evaluated for one object.
    pub times: u64,
    /// Both multiplied: what is held against the limits.
    pub cost: u64,
}

impl Cost {
    /// The expression as people find it.
    pub(super) fn name(&self) -> String {
        let path = path_text(&self.path);
        let dot = if path.is_empty() { "" } else { "." };
        format!("{path}{dot}x-kubernetes-validations[{}].{}", self.rule, self.field.name())
    }
}

/// Everything that was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// What the API server rejects; empty if it accepts. At most 10 of one expression, and 10,000 of each [`Field`].
    pub problems: Vec<Problem>,
    /// What each expression that compiles costs.
    pub costs: Vec<Cost>,
    /// What all of them cost together.
    pub total: u64,
}

/// A path as it is written in a manifest.
#[must_use]
pub fn path_text(path: &[Step]) -> String {
    let mut out = String::new();
    for step in path {
        if !out.is_empty() {
            out.push('.');
        }
        match step {
            Step::Property(name) => {
                let _ = write!(out, "properties[{name}]");
            }
            Step::Items => out.push_str("items"),
            Step::AdditionalProperties => out.push_str("additionalProperties"),
        }
    }
    out
}

/// The line and column, from 1, of a byte of a text.
pub(super) fn place(text: &str, at: u32) -> (usize, usize) {
    let before = &text.as_bytes()[..(at as usize).min(text.len())];
    let line = before.split(|byte| *byte == b'\n').count();
    let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    (line, String::from_utf8_lossy(&before[start..]).chars().count() + 1)
}

/// Returns the message for a cost that exceeds its limit. The factor has the API server's format.
pub(super) fn too_expensive(what: &str, cost: u64, limit: u64) -> String {
    // Costs and limits are estimates; a factor of them needs no more than a float holds.
    #[allow(clippy::cast_precision_loss)]
    let factor = cost as f64 / limit as f64;
    let factor = if factor > 100.0 {
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    };
    format!("{what} exceeds the limit of {limit} by a factor of {factor}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_the_api_servers() {
        assert!(too_expensive("it", 14_000_000, 10_000_000).contains("1.400000x"));
        assert!(too_expensive("it", 15_000_000, 10_000_000).contains(" 1.5x"));
        assert!(too_expensive("it", u64::MAX, 10_000_000).contains("more than 100x"));
    }

    #[test]
    fn places_count_characters() {
        assert_eq!(place("é == 1 &&\n é.x", 15), (2, 4));
        assert_eq!(place("a", 0), (1, 1));
    }
}
