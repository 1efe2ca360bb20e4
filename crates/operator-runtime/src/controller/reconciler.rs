//! The trait that a controller's author implements.

use super::changes::Changes;
use super::children::Children;
use super::error::Error;
use super::external::External;
use super::object::{Object, StatusOf};
use super::observed::Observed;
use super::watches::Watches;
use crate::conditions::{self, ConditionStatus, Conditioned, DEGRADED};
use crate::context::Context;
use crate::events::Event;
use kube::Resource;
use std::time::Duration;

/// What is specific to one kind of custom resource.
///
/// The pure methods are called whenever something that they depend on may have changed, with what was observed; they make
/// no requests. What they return is compared with what exists, and only the difference is written.
pub trait Reconciler: Send + Sync + 'static {
    /// The custom resource.
    type Object: Object;

    /// The finalizer, such as `cache.example.com/finalizer`; needed only for [`Reconciler::cleanup`] or to report
    /// deletions.
    const FINALIZER: Option<&'static str> = None;

    /// The conditions that this controller owns; all others are left to their managers.
    const CONDITIONS: &'static [&'static str] =
        &[conditions::AVAILABLE, conditions::PROGRESSING, conditions::DEGRADED];

    /// Declares the kinds of children, and of other objects that a status or children depend on.
    fn watches(&self, watches: &mut Watches);

    /// Returns the children that an object should have. Pure.
    ///
    /// # Errors
    /// [`Invalid`](super::Invalid) if the object is invalid: its condition `Degraded` shows why, its children stay as they are,
    /// and nothing is retried before it changes. Any other error is shown, too, and retried with backoff.
    fn desired(&self, object: &Self::Object, observed: &Observed) -> Result<Children, Error>;

    /// Returns the status of an object. Pure; begin with [`Observed::draft`].
    fn status(&self, object: &Self::Object, observed: &Observed) -> StatusOf<Self::Object>;

    /// Completes every status before it is written: fields that do not depend on what was observed.
    fn complete_status(&self, _object: &Self::Object, _status: &mut StatusOf<Self::Object>) {}

    /// Reconciles what is outside of the API server, such as a bucket; before `desired`.
    ///
    /// What it returns is [`Observed::external`]. An error is retried with backoff, and shown as a condition.
    fn reconcile_external(
        &self,
        _object: &Self::Object,
        _context: &Context,
    ) -> impl Future<Output = Result<External, Error>> + Send {
        async { Ok(External::none()) }
    }

    /// Cleans up what is outside of the API server when an object is deleted; needs [`Reconciler::FINALIZER`].
    ///
    /// Children are garbage-collected. An error is retried with backoff, and shown as a condition and a warning; the object
    /// stays until this succeeds.
    fn cleanup(
        &self,
        _object: &Self::Object,
        _context: &Context,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        async { Ok(()) }
    }

    /// Returns the events of a reconcile. A warning is recorded in any case when the condition `Degraded` becomes true.
    fn events(&self, _object: &Self::Object, changes: &Changes<'_>) -> Vec<Event> {
        changes.events()
    }

    /// Returns after which time to reconcile an object again although nothing changes.
    fn requeue(&self, _object: &Self::Object, _observed: &Observed) -> Option<Duration> {
        None
    }

    /// Returns the status of an object that is reconciled for the first time: unknown, unless it has conditions.
    fn initial_status(&self, object: &Self::Object, observed: &Observed) -> Option<StatusOf<Self::Object>> {
        let mut draft = observed.draft(object);
        if conditions::find(draft.conditions(), conditions::AVAILABLE).is_some() {
            return None;
        }
        draft.set(conditions::AVAILABLE, ConditionStatus::Unknown, "Reconciling", "Starting reconciliation");
        Some(draft.finish())
    }

    /// Returns the status of an object that is being deleted; only with a finalizer. [`Observed::problem`] is what
    /// [`Reconciler::cleanup`] failed with, if it did.
    fn finalizing_status(
        &self,
        object: &Self::Object,
        observed: &Observed,
    ) -> Option<StatusOf<Self::Object>> {
        let name = object.meta().name.as_deref().unwrap_or_default();
        let mut draft = observed.draft(object);
        let message = match observed.problem() {
            None => format!("Performing finalizer operations for the custom resource: {name}"),
            Some(problem) => {
                format!("Failed to clean up the custom resource {name}, retrying: {}", problem.message)
            }
        };
        draft.set(DEGRADED, ConditionStatus::True, "Finalizing", message);
        Some(draft.finish())
    }

    /// Has children compared by digests of the fields that are applied; off unless implemented.
    ///
    /// Without it, a child is applied when it should be another one, when its generation or labels change (or anything, for
    /// kinds without generations), and once after each start of the manager. With it, a restart writes nothing, and neither
    /// do changes of fields that belong to others.
    fn skip_unchanged(&self) -> Option<SkipUnchanged<Self::Object>> {
        None
    }
}

/// How children are compared by digests: through the fields of an example that has everything set.
///
/// A child with a field that the example's children lack is applied in every reconcile.
#[derive(Clone, Debug)]
pub struct SkipUnchanged<O> {
    pub(crate) example: O,
    pub(crate) pure_in_spec: bool,
}

impl<O> SkipUnchanged<O> {
    /// Returns digests through the children of an object with every optional field set.
    #[must_use]
    pub fn new(example: O) -> Self {
        Self { example, pure_in_spec: false }
    }

    /// Has `desired` called once per generation of an object only: it depends on name and spec, and not on what is
    /// observed.
    #[must_use]
    pub fn desired_is_pure_in_spec(self) -> Self {
        Self { pure_in_spec: true, ..self }
    }
}
