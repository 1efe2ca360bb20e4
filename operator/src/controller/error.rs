//! What can fail in a reconcile, and how it is reported in conditions.

use super::build::Kind;

/// Why a reconcile failed; it is retried with backoff.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// An owned object could not be written; the status reports it, so this is only for the log.
    #[error("failed to write owned objects: {0}")]
    Apply(String),
    /// The Memcached itself could not be written.
    #[error("failed to write the Memcached's {part}: {source}")]
    Write {
        /// `status` or `finalizers`.
        part: &'static str,
        /// The API server's error.
        source: Box<kube::Error>,
    },
    /// An object could not be serialised.
    #[error("failed to build objects: {0}")]
    Build(#[from] serde_json::Error),
}

impl Error {
    /// Whether somebody else wrote first: worth a retry as soon as the watch reports their write.
    pub(crate) fn is_conflict(&self) -> bool {
        match self {
            Self::Write { source, .. } => {
                matches!(&**source, kube::Error::Api(status) if status.is_conflict())
            }
            Self::Apply(_) | Self::Build(_) => false,
        }
    }
}

/// What prevents a Memcached from reaching its desired state, for its `Degraded` condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// The condition's reason, in `CamelCase`.
    pub(crate) reason: String,
    /// The condition's message.
    pub(crate) message: String,
    /// Whether a retry may help although nothing changes.
    pub(crate) retry: bool,
}

impl Problem {
    /// An owned object could not be written.
    pub(crate) fn rejected<K: Kind>(error: &kube::Error) -> Self {
        let (reason, message) = match error {
            kube::Error::Api(status) => {
                let reason = if status.reason.is_empty() { "ApiError" } else { &status.reason };
                (reason.to_owned(), status.message.clone())
            }
            error => ("ApiUnreachable".to_owned(), format!("the API server could not be reached: {error}")),
        };
        Self { reason: reason_word(&reason), message: format!("{}: {message}", K::NAME), retry: true }
    }

    /// Another object is in the way; the watch reports when it is gone.
    pub(crate) fn blocked<K: Kind>(message: &str) -> Self {
        Self { reason: format!("{}Blocked", K::NAME), message: message.to_owned(), retry: false }
    }
}

/// Converts text to the form of a condition's reason: `[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?`.
pub(crate) fn reason_word(text: &str) -> String {
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
