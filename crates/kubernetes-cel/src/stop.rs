//! The reasons why an evaluation ends without a value.

/// Why an expression has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The expression uses something that this evaluator does not support.
    Unknown,
    /// The evaluation fails, on an API server as well.
    Error(&'static str),
    /// The evaluation costs more than the API server allows for one rule.
    Cost,
}

/// The map or object has no such key or field.
pub(crate) const NO_KEY: Stop = Stop::Error("no such key");
