//! What a reconciler knows of things outside of the API server, and how often it asks.

use super::error::Error;
use crate::problem::ReconcileProblem;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What [`Reconciler::reconcile_external`](super::Reconciler::reconcile_external) found outside of the API server.
pub struct External<T> {
    pub(crate) value: Option<Arc<T>>,
    pub(crate) again: Option<Duration>,
}

impl<T> External<T> {
    /// Returns no value.
    #[must_use]
    pub fn none() -> Self {
        Self { value: None, again: None }
    }

    /// Returns a value for [`Observed::external`](super::Observed::external).
    pub fn new(value: T) -> Self {
        Self { value: Some(Arc::new(value)), again: None }
    }

    /// Has the external system asked again after this time, and not earlier unless the object or what it refers to changes: the
    /// operator's own writes, drift of children and changes of related objects cause no further call.
    ///
    /// Without it, the external system is asked in every reconcile. The time is at least 100 ms and at most a year.
    #[must_use]
    pub fn again_after(self, time: Duration) -> Self {
        Self { again: Some(time), ..self }
    }
}

impl<T> Clone for External<T> {
    fn clone(&self) -> Self {
        Self { value: self.value.clone(), again: self.again }
    }
}

impl<T> Default for External<T> {
    fn default() -> Self {
        Self::none()
    }
}

impl<T> fmt::Debug for External<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("External").field("again", &self.again).finish_non_exhaustive()
    }
}

/// What came of [`Reconciler::cleanup`](super::Reconciler::cleanup).
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Cleanup {
    /// Nothing is left: the object can be removed.
    Done,
    /// The deletion is under way: the object stays, its status shows the message, and `cleanup` is called again after the time.
    Waiting {
        /// What is being waited for, such as `the database is still being deleted`.
        message: String,
        /// When to call `cleanup` again.
        again_after: Duration,
    },
}

impl Cleanup {
    /// Returns that the deletion is under way; `cleanup` is called again after at least 100 ms and at most a year.
    pub fn waiting(message: impl Into<String>, again_after: Duration) -> Self {
        Self::Waiting { message: message.into(), again_after }
    }
}

/// What a call of the external system ended with.
pub(crate) enum CallResult<T> {
    Found(External<T>),
    /// It failed; the problem is shown until the call is repeated.
    Failed(ReconcileProblem),
    Invalid(ReconcileProblem),
}

impl<T> Clone for CallResult<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Found(external) => Self::Found(external.clone()),
            Self::Failed(problem) => Self::Failed(problem.clone()),
            Self::Invalid(problem) => Self::Invalid(problem.clone()),
        }
    }
}

/// Returns the error of a call that took too long.
pub(crate) fn timed_out(limit: Duration) -> Error {
    Error::other(format!("no response within {} s", limit.as_secs_f32()))
}
