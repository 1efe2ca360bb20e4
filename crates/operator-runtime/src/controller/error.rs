//! What can fail in a reconcile.

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
    /// The reconciler asked for a view of a kind that `owns` does not declare.
    #[error("`owns` does not declare the kind {kind} with the view `{view}`")]
    UndeclaredView {
        /// The kind.
        kind: String,
        /// The type of the view.
        view: &'static str,
    },
    /// What is outside of the API server could not be reconciled or cleaned up.
    #[error("`{step}` failed: {source}")]
    External {
        /// `prepare` or `cleanup`.
        step: &'static str,
        /// What that returned.
        source: Box<Error>,
    },
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
            Self::External { source, .. } => source.is_conflict(),
            Self::Apply(_)
            | Self::Build(_)
            | Self::Undeclared(_)
            | Self::UndeclaredView { .. }
            | Self::Other(_) => false,
        }
    }
}

/// Why an object cannot be reconciled, admitted or converted as it is: the message says which field is invalid, and what to
/// change.
///
/// Any error converts into it, so `?` works in [`Reconciler::desired`](super::Reconciler::desired) and
/// [`Spoke`](crate::conversion::Spoke).
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

impl<E: StdError> From<E> for Invalid {
    fn from(error: E) -> Self {
        Self::new(error)
    }
}
