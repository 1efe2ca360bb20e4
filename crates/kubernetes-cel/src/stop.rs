//! What stops an evaluation.

/// Why there is no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// It is not known here.
    Unknown,
    /// The API server does not come to a value either.
    Error(&'static str),
    /// The evaluation costs more than the API server allows for one rule.
    Cost,
}

/// There is no such key or field.
pub(super) const NO_KEY: Stop = Stop::Error("no such key");
