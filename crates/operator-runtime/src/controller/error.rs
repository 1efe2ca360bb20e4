//! What can fail in a reconcile, and how it is reported in conditions.

use std::error::Error as StdError;
use std::fmt::Display;

/// Why a reconcile failed; it is retried with backoff.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A child could not be written; the status reports it, so this is only for the log.
    #[error("failed to write children: {0}")]
    Apply(String),
    /// The object itself could not be written.
    #[error("failed to write the object's {part}: {source}")]
    Write {
        /// `status` or `finalizers`.
        part: &'static str,
        /// The API server's error.
        source: Box<kube::Error>,
    },
    /// An object could not be serialized.
    #[error("failed to build objects: {0}")]
    Build(#[from] serde_json::Error),
    /// `desired` contains a kind that `owns` does not declare.
    #[error("`desired` contains a {0}, which is not declared in `owns`")]
    Undeclared(String),
    /// What the reconciler itself does failed: see [`Error::other`].
    #[error(transparent)]
    Other(Box<dyn StdError + Send + Sync>),
}

impl From<kube::Error> for Error {
    fn from(error: kube::Error) -> Self {
        Self::Other(Box::new(error))
    }
}

impl Error {
    /// Returns an error of the reconciler's own work, such as of a request to an external service.
    pub fn other(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Other(error.into())
    }

    /// Whether somebody else wrote first: worth a retry as soon as the watch reports their write.
    pub(crate) fn is_conflict(&self) -> bool {
        match self {
            Self::Write { source, .. } => {
                matches!(&**source, kube::Error::Api(status) if status.is_conflict())
            }
            Self::Apply(_) | Self::Build(_) | Self::Undeclared(_) | Self::Other(_) => false,
        }
    }
}

/// Why an object cannot be reconciled as it is: the message says which field is invalid, and what to change.
///
/// Any error converts into it, so `?` works in [`Reconciler::desired`](super::Reconciler::desired).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    message: String,
}

impl Invalid {
    /// Returns the reason with this message, such as `spec.size: must be at least 1`.
    #[must_use]
    pub fn new(message: impl Display) -> Self {
        Self { message: message.to_string() }
    }

    /// Returns the message.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl<E: StdError> From<E> for Invalid {
    fn from(error: E) -> Self {
        Self::new(error)
    }
}

/// What prevents an object from reaching its desired state, for its `Degraded` condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The condition's reason, in `CamelCase`.
    pub reason: String,
    /// The condition's message.
    pub message: String,
    /// Whether a retry may help although nothing changes.
    pub retry: bool,
}

impl Problem {
    /// Returns a problem that is not retried; any text becomes a valid reason.
    #[must_use]
    pub fn new(reason: &str, message: impl Into<String>) -> Self {
        Self { reason: reason_word(reason), message: message.into(), retry: false }
    }

    /// The spec is invalid.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new("InvalidSpec", message)
    }

    /// A child could not be written.
    pub(crate) fn rejected(kind: &str, error: &kube::Error) -> Self {
        let (reason, message) = match error {
            kube::Error::Api(status) => {
                let reason = if status.reason.is_empty() { "ApiError" } else { &status.reason };
                (reason.to_owned(), status.message.clone())
            }
            error => ("ApiUnreachable".to_owned(), format!("the API server could not be reached: {error}")),
        };
        Self { retry: true, ..Self::new(&reason, format!("{kind}: {message}")) }
    }

    /// Another object is in the way; the watch reports when it is gone.
    pub(crate) fn blocked(kind: &str, message: &str) -> Self {
        Self { reason: format!("{kind}Blocked"), message: message.to_owned(), retry: false }
    }
}

/// Converts text to the form of a condition's reason: `[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?`.
#[must_use]
pub fn reason_word(text: &str) -> String {
    let word: String = text.chars().filter(char::is_ascii_alphanumeric).take(128).collect();
    if word.starts_with(|first: char| first.is_ascii_alphabetic()) { word } else { format!("Error{word}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_have_the_form_that_the_api_requires() {
        assert_eq!(reason_word("Forbidden"), "Forbidden");
        assert_eq!(reason_word("not found!"), "notfound");
        assert_eq!(reason_word("429"), "Error429");
        assert_eq!(reason_word(""), "Error");
    }
}
