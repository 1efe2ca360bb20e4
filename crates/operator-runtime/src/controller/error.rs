//! What can fail in a reconcile.

use crate::backoff::backoff;
use std::error::Error as StdError;
use std::fmt::{self, Display};
use std::time::Duration;

/// Why a reconciler, a conversion or a task failed.
///
/// Any error converts into it, so `?` works, and a reconcile that fails with it is retried with backoff. Only [`Invalid`] is not
/// retried; it is always made explicitly. (As `anyhow::Error`, it is therefore no [`std::error::Error`] itself.)
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The object cannot be reconciled as it is: nothing is retried before it changes.
    Invalid(Invalid),
    /// Something else failed.
    Other(Box<dyn StdError + Send + Sync>),
    /// Something else failed, and the other side told when to try again.
    RetryAfter {
        /// When to try again.
        after: Duration,
        /// What failed.
        error: Box<dyn StdError + Send + Sync>,
    },
}

impl Error {
    /// Returns an error with this message or cause.
    pub fn other(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Other(error.into())
    }

    /// Returns an error that is not retried before this time has passed, such as that of a `Retry-After` header.
    ///
    /// What the operator itself writes in between does not cause an earlier attempt; a change of the object does.
    pub fn retry_after(after: Duration, error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::RetryAfter { after, error: error.into() }
    }

    /// Returns the time of [`Error::retry_after`].
    pub(crate) fn after(&self) -> Option<Duration> {
        match self {
            Self::RetryAfter { after, .. } => Some(*after),
            Self::Invalid(_) | Self::Other(_) => None,
        }
    }
}

impl<E: StdError + Send + Sync + 'static> From<E> for Error {
    fn from(error: E) -> Self {
        Self::Other(Box::new(error))
    }
}

impl From<Invalid> for Error {
    fn from(invalid: Invalid) -> Self {
        Self::Invalid(invalid)
    }
}

impl From<Error> for Box<dyn StdError + Send + Sync> {
    fn from(error: Error) -> Self {
        match error {
            Error::Invalid(Invalid { message }) => message.into(),
            Error::Other(error) | Error::RetryAfter { error, .. } => error,
        }
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(invalid) => f.write_str(&invalid.message),
            Self::Other(error) | Self::RetryAfter { error, .. } => error.fmt(f),
        }
    }
}

/// Why an object cannot be reconciled, admitted or converted as it is: the message says which field is invalid, and what to
/// change.
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

impl From<Invalid> for String {
    fn from(invalid: Invalid) -> Self {
        invalid.message
    }
}

/// A reconcile that failed, for [`Reconciler::retry`](super::Reconciler::retry).
#[derive(Debug)]
pub struct Failure<'a> {
    pub(crate) error: &'a ReconcileError,
    pub(crate) attempts: u32,
    pub(crate) random: u64,
}

impl Failure<'_> {
    /// Returns what failed: the error that the reconciler returned, that of a request of its controller, or a panic. Of a type
    /// of one's own, `downcast_ref` finds it.
    #[must_use]
    pub fn error(&self) -> &(dyn StdError + 'static) {
        match self.error {
            ReconcileError::Reconciler { error: Error::Other(error), .. }
            | ReconcileError::Reconciler { error: Error::RetryAfter { error, .. }, .. } => &**error,
            ReconcileError::Write { source, .. } | ReconcileError::Read { source } => &**source,
            error => error,
        }
    }

    /// Returns how many reconciles of the object have failed in a row, with this one.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Returns the time of [`Error::retry_after`] or, without one, of [`backoff`]: it doubles from 200 ms to a minute, and half of it
    /// is random. A time of [`Error::retry_after`] of less than a second is raised to the backoff, up to a second, if attempts keep failing.
    #[must_use]
    pub fn delay(&self) -> Duration {
        let after = match self.error {
            ReconcileError::Reconciler { error, .. } => error.after(),
            _ => None,
        };
        let backoff = backoff(self.attempts, self.random);
        after.map_or(backoff, |after| after.max(backoff.min(Duration::from_secs(1))))
    }
}

/// Why a reconcile failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReconcileError {
    /// A child could not be written; the status reports it, so this is only for the log.
    #[error("failed to write children: {0}")]
    Apply(String),
    /// The object itself could not be written.
    #[error("failed to write the object's {part}: {source}")]
    Write {
        /// `status` or `finalizers`.
        part: &'static str,
        source: Box<kube::Error>,
    },
    /// A child could not be read.
    #[error("failed to read a child: {source}")]
    Read { source: Box<kube::Error> },
    /// An object could not be serialized.
    #[error("failed to build objects: {0}")]
    Build(#[from] serde_json::Error),
    /// A handle of another controller was used.
    #[error("a handle was used that another controller declared")]
    ForeignHandle,
    /// `desired` returned what cannot be applied.
    #[error("{0}")]
    Desired(String),
    /// The reconciler panicked.
    #[error("the reconciler panicked: {0}")]
    Panic(String),
    /// A method of the reconciler failed.
    #[error("`{method}` failed: {error}")]
    Reconciler {
        /// `desired`, `reconcile_external` or `cleanup`.
        method: &'static str,
        error: Error,
        /// What follows, if that is decided already.
        decided: Option<Duration>,
    },
}

impl ReconcileError {
    /// Returns the error of a method of the reconciler.
    pub(crate) fn of_method(method: &'static str, error: Error) -> Self {
        Self::Reconciler { method, error, decided: None }
    }

    /// Records what follows.
    pub(crate) fn decide(&mut self, after: Duration) {
        if let Self::Reconciler { decided, .. } = self {
            *decided = Some(after);
        }
    }

    /// Returns what follows, if that is decided already.
    pub(crate) fn decided(&self) -> Option<Duration> {
        match self {
            Self::Reconciler { decided, .. } => *decided,
            _ => None,
        }
    }

    /// Whether somebody else wrote first: worth a retry as soon as the watch reports their write.
    pub(crate) fn is_conflict(&self) -> bool {
        let Self::Write { source, .. } = self else { return false };
        matches!(&**source, kube::Error::Api(status) if status.is_conflict())
    }
}
