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
    /// Not a field of a rule: the schema as a whole.
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

/// A reason why the API server rejects a schema.
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
    /// Line and column in the expression, from 1; `None` if the problem is about the expression as a whole.
    pub position: Option<(usize, usize)>,
}

/// An error of a single expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpressionError {
    /// What is wrong, and what to do.
    pub message: String,
    /// Line and column in the expression, from 1; `None` if the problem is about the expression as a whole.
    pub position: Option<(usize, usize)>,
}

/// All errors of a single expression, at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpressionErrors(pub Vec<ExpressionError>);

impl fmt::Display for ExpressionErrors {
    /// Writes the first error; those after it are often its consequences.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(first) = self.0.first() else { return Ok(()) };
        f.write_str(&first.message)?;
        match first.position {
            Some((line, column)) => write!(f, " (line {line}, column {column} of the expression)"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ExpressionErrors {}

/// The estimated cost of an expression: the maximum for any object that the schema allows.
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
    /// `estimate` times `times`, which is compared with the limits.
    pub cost: u64,
}

impl Cost {
    /// Returns the path of the expression in the schema.
    pub(crate) fn name(&self) -> String {
        let path = format_path(&self.path);
        let dot = if path.is_empty() { "" } else { "." };
        format!("{path}{dot}x-kubernetes-validations[{}].{}", self.rule, self.field.name())
    }
}

/// What [`check_schema`](crate::check_schema) found.
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

/// Formats a path as it is written in a manifest: `properties[spec].items`.
#[must_use]
pub fn format_path(path: &[Step]) -> String {
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

/// Returns the line and column, from 1, of a byte of a string.
pub(crate) fn position(text: &str, at: u32) -> (usize, usize) {
    let before = &text.as_bytes()[..(at as usize).min(text.len())];
    let line = before.split(|byte| *byte == b'\n').count();
    let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    (line, String::from_utf8_lossy(&before[start..]).chars().count() + 1)
}

/// Returns the message for a cost that exceeds its limit. The factor has the API server's format.
pub(crate) fn too_expensive(what: &str, cost: u64, limit: u64) -> String {
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
    fn factor_has_the_api_servers_format() {
        assert!(too_expensive("it", 14_000_000, 10_000_000).contains("1.400000x"));
        assert!(too_expensive("it", 15_000_000, 10_000_000).contains(" 1.5x"));
        assert!(too_expensive("it", u64::MAX, 10_000_000).contains("more than 100x"));
    }

    #[test]
    fn position_counts_characters() {
        assert_eq!(position("é == 1 &&\n é.x", 15), (2, 4));
        assert_eq!(position("a", 0), (1, 1));
    }
}
