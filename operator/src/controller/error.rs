//! What can go wrong in a reconcile, in the words of a condition.

use super::build::Kind;
use std::time::Duration;

/// Why a reconcile could not finish; it is tried again after a while.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// An owned object could not be written; the status tells, so this carries only what the log needs.
    #[error("failed to write owned objects: {0}")]
    Apply(String),
    /// The Memcached itself could not be written.
    #[error("failed to write the Memcached's {part}: {source}")]
    Write {
        /// `status` or `finalizers`.
        part: &'static str,
        /// What the API server said.
        source: Box<kube::Error>,
    },
    /// An object could not be serialised.
    #[error("failed to build objects: {0}")]
    Build(#[from] serde_json::Error),
}

impl Error {
    /// Somebody else wrote first: worth trying again at once, with what they wrote.
    pub(crate) fn is_conflict(&self) -> bool {
        match self {
            Self::Write { source, .. } => {
                matches!(&**source, kube::Error::Api(status) if status.is_conflict())
            }
            Self::Apply(_) | Self::Build(_) => false,
        }
    }
}

/// What keeps a Memcached from being as it should be, for its `Degraded` condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// A word in the form of a condition's reason.
    pub(crate) reason: String,
    /// What to tell the user.
    pub(crate) message: String,
    /// Whether trying again without a change of anything may help.
    pub(crate) retry: bool,
}

impl Problem {
    /// From the API server's refusal to write an owned object.
    pub(crate) fn refused<K: Kind>(error: &kube::Error) -> Self {
        let (reason, message) = match error {
            kube::Error::Api(status) => {
                let reason = if status.reason.is_empty() { "ApiError" } else { &status.reason };
                (reason.to_owned(), status.message.clone())
            }
            _ => ("ApiUnreachable".to_owned(), "the API server did not answer as expected".to_owned()),
        };
        Self { reason: reason_word(&reason), message: format!("{}: {message}", K::NAME), retry: true }
    }

    /// Something stands in the way; that it is gone will be seen.
    pub(crate) fn blocked<K: Kind>(message: &str) -> Self {
        Self { reason: format!("{}Blocked", K::NAME), message: message.to_owned(), retry: false }
    }
}

/// Makes sure that a word has the form that a condition's reason must have: `[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?`.
pub(crate) fn reason_word(text: &str) -> String {
    let word: String = text.chars().filter(char::is_ascii_alphanumeric).take(128).collect();
    if word.starts_with(|first: char| first.is_ascii_alphabetic()) { word } else { format!("Error{word}") }
}

/// How long to wait after `failures` failures in a row: doubling from 200 ms to a minute, half of it at random.
pub(crate) fn backoff(failures: u32, random: u64) -> Duration {
    let ceiling = 200_u64.saturating_mul(1 << failures.saturating_sub(1).min(20)).min(60_000);
    Duration::from_millis(ceiling / 2 + random % (ceiling / 2 + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_doubles_to_a_minute_and_jitters_within_the_upper_half() {
        for random in [0, 1, u64::MAX, 12_345] {
            assert!((100..=200).contains(&backoff(1, random).as_millis()));
            assert!((400..=800).contains(&backoff(3, random).as_millis()));
            assert!((30_000..=60_000).contains(&backoff(u32::MAX, random).as_millis()));
        }
        assert_ne!(backoff(5, 1), backoff(5, 2));
    }

    #[test]
    fn reasons_have_the_form_that_the_api_asks_for() {
        assert_eq!(reason_word("Forbidden"), "Forbidden");
        assert_eq!(reason_word("not found!"), "notfound");
        assert_eq!(reason_word("429"), "Error429");
        assert_eq!(reason_word(""), "Error");
    }
}
