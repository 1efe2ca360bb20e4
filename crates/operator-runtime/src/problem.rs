//! What prevents an object from reaching its desired state, as reason and message of a condition.

use std::fmt::{Display, Write};

/// The longest message of a problem, a condition or a log entry in characters; the API allows 32768 in a condition, more than
/// anybody reads. An external system may answer with megabytes.
pub(crate) const MAX_MESSAGE_CHARS: usize = 1024;

/// What prevents an object from reaching its desired state, for its `Degraded` condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReconcileProblem {
    /// The condition's reason, in `CamelCase`.
    pub reason: String,
    /// The condition's message: [`ReconcileProblem::new`] keeps at most 1024 characters.
    pub message: String,
    /// Whether a retry may help although nothing changes.
    pub retry: bool,
}

impl ReconcileProblem {
    /// Returns a problem that is not retried; any text becomes a valid reason.
    #[must_use]
    pub fn new(reason: &str, message: impl Into<String>) -> Self {
        // A copy: cutting the original would keep its memory.
        Self { reason: reason_word(reason), message: shortened(&message.into()), retry: false }
    }

    /// The spec is invalid.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new("InvalidSpec", message)
    }

    /// A method of the reconciler failed.
    pub(crate) fn failed(reason: &str, error: &(impl Display + ?Sized)) -> Self {
        Self { retry: true, ..Self::new(reason, shortened(error)) }
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

/// Returns the beginning of a text: at most [`MAX_MESSAGE_CHARS`], whatever its length.
pub(crate) fn shortened(text: &(impl Display + ?Sized)) -> String {
    struct Beginning {
        text: String,
        left: usize,
    }
    impl Write for Beginning {
        fn write_str(&mut self, more: &str) -> std::fmt::Result {
            for character in more.chars() {
                self.left = self.left.checked_sub(1).ok_or(std::fmt::Error)?;
                self.text.push(character);
            }
            Ok(())
        }
    }
    let mut beginning = Beginning { text: String::new(), left: MAX_MESSAGE_CHARS };
    // It fails when it is full.
    let _ = write!(beginning, "{text}");
    beginning.text
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
    fn messages_are_cut_and_keep_no_memory_of_the_rest() {
        let long = "\u{e9}".repeat(10 << 20);
        let problems = [
            ReconcileProblem::new("Long", long.clone()),
            ReconcileProblem::failed("Long", &long),
            ReconcileProblem::invalid(long),
        ];
        for problem in problems {
            assert_eq!(problem.message.chars().count(), MAX_MESSAGE_CHARS);
            assert!(problem.message.capacity() < 8 * MAX_MESSAGE_CHARS, "{}", problem.message.capacity());
        }
        assert_eq!(ReconcileProblem::failed("Short", "as it is").message, "as it is");
    }

    #[test]
    fn reasons_have_the_form_that_the_api_requires() {
        assert_eq!(reason_word("Forbidden"), "Forbidden");
        assert_eq!(reason_word("not found!"), "notfound");
        assert_eq!(reason_word("429"), "Error429");
        assert_eq!(reason_word(""), "Error");
    }
}
