//! The trait that a controller's author implements.

use super::changes::Changes;
use super::children::Children;
use super::error::{Error, Failure};
use super::external::{Cleanup, External};
use super::object::Object;
use super::observed::Observed;
use crate::conditions::{self, ConditionStatus, DEGRADED, Status};
use crate::context::Context;
use crate::events::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use std::time::Duration;

/// What is specific to one kind of objects: of custom resources, or of any other.
///
/// The pure methods are called whenever something that they depend on may have changed, with what was observed; they make
/// no requests. What they return is compared with what exists, and only the difference is written.
///
/// A reconciler is built with [`Watches`](super::Watches), which returns the handles of what it reads and writes:
/// [`Operator::controller`](crate::Operator::controller).
pub trait Reconciler: Send + Sync + Sized + 'static {
    /// The kind that is reconciled: a custom resource, or a type of `k8s_openapi`.
    type Object: Object;

    /// The status that this controller writes; `()` for none.
    ///
    /// For a custom resource, it is the status of its type. For other kinds it has the fields that the controller manages.
    type Status: Status;

    /// What [`Reconciler::reconcile_external`] finds outside of the API server; `()` without one.
    type External: Send + Sync + 'static;

    /// The finalizer, such as `cache.example.com/finalizer`; needed only for [`Reconciler::cleanup`] or to report
    /// deletions.
    const FINALIZER: Option<&'static str> = None;

    /// The conditions that this controller owns; all others are left to their managers.
    const CONDITIONS: &'static [&'static str] =
        &[conditions::AVAILABLE, conditions::PROGRESSING, conditions::DEGRADED];

    /// The longest time of a call of [`Reconciler::reconcile_external`] or [`Reconciler::cleanup`].
    const EXTERNAL_TIMEOUT: Duration = Duration::from_mins(1);

    /// Returns the children that an object should have. Pure.
    ///
    /// # Errors
    /// [`Invalid`](super::Invalid) if the object is invalid: its condition `Degraded` shows why, its children stay as they are,
    /// and nothing is retried before it changes. Any other error is shown, too, and retried with backoff.
    fn desired(&self, object: &Self::Object, observed: &Observed<Self>) -> Result<Children, Error>;

    /// Returns the status of an object. Pure; begin with [`Observed::draft`].
    fn status(&self, object: &Self::Object, observed: &Observed<Self>) -> Self::Status;

    /// Completes every status before it is written: fields that depend on metadata and conditions only. It is also called for
    /// objects that cannot be parsed, and for those that are being deleted.
    fn complete_status(&self, _metadata: &ObjectMeta, _status: &mut Self::Status) {}

    /// Reconciles what is outside of the API server, such as a bucket; before `desired`.
    ///
    /// What it returns is [`Observed::external`]. With [`External::again_after`], it is kept until then. An error is shown as a
    /// condition, and the call is repeated with backoff or after the time of [`Error::retry_after`]. Either is earlier if the
    /// object or what it refers to changes.
    fn reconcile_external(
        &self,
        _object: &Self::Object,
        _observed: &Observed<Self>,
        _context: &Context,
    ) -> impl Future<Output = Result<External<Self::External>, Error>> + Send {
        async { Ok(External::none()) }
    }

    /// Cleans up what is outside of the API server when an object is deleted; needs [`Reconciler::FINALIZER`].
    ///
    /// Children are garbage-collected. The object stays until this returns [`Cleanup::Done`]. An error is retried with backoff,
    /// and shown as a condition and a warning.
    fn cleanup(
        &self,
        _object: &Self::Object,
        _observed: &Observed<Self>,
        _context: &Context,
    ) -> impl Future<Output = Result<Cleanup, Error>> + Send {
        async { Ok(Cleanup::Done) }
    }

    /// Cleans up when an object is deleted that cannot be parsed, because its CRD is older or newer than the operator; by
    /// default nothing.
    fn cleanup_malformed(
        &self,
        _metadata: &ObjectMeta,
        _context: &Context,
    ) -> impl Future<Output = Result<Cleanup, Error>> + Send {
        async { Ok(Cleanup::Done) }
    }

    /// Returns the events of a reconcile. It is called when children were written, or the status changes. A warning is recorded in
    /// any case when the condition `Degraded` becomes true.
    fn events(
        &self,
        _object: &Self::Object,
        _observed: &Observed<Self>,
        changes: &Changes<'_>,
    ) -> Vec<Event> {
        changes.events()
    }

    /// Returns after which time, at least 100 ms, to reconcile an object again although nothing changes.
    fn requeue(&self, _object: &Self::Object, _observed: &Observed<Self>) -> Option<Duration> {
        None
    }

    /// Returns after which time a failed reconcile is repeated, at least 100 ms; `None` to wait until the object or something that
    /// it watches changes.
    ///
    /// By default it is [`Failure::delay`]: the time of [`Error::retry_after`], or a backoff. What failed is shown as a condition in
    /// any case. It is not asked about [`Invalid`](super::Invalid), which is never retried, and about conflicts, which always are.
    ///
    /// A failed call of [`Reconciler::reconcile_external`] is not repeated before either, unless the object or what it refers to
    /// changes.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::Namespace;
    /// # use operator_runtime::controller::{Children, Error, Failure, Observed, Reconciler};
    /// # use std::time::Duration;
    /// # struct Greetings;
    /// # impl Reconciler for Greetings {
    /// #     type Object = Namespace;
    /// #     type Status = ();
    /// #     type External = ();
    /// #     fn desired(&self, _: &Namespace, _: &Observed<Self>) -> Result<Children, Error> { Ok(Children::new()) }
    /// #     fn status(&self, _: &Namespace, _: &Observed<Self>) {}
    /// // Gives up after five attempts, and does not repeat what a request was forbidden for.
    /// fn retry(&self, failure: &Failure<'_>) -> Option<Duration> {
    ///     let forbidden = failure.error().downcast_ref::<kube::Error>().is_some_and(
    ///         |error| matches!(error, kube::Error::Api(status) if status.is_forbidden()),
    ///     );
    ///     (failure.attempts() < 5 && !forbidden).then(|| failure.delay())
    /// }
    /// # }
    /// ```
    fn retry(&self, failure: &Failure<'_>) -> Option<Duration> {
        Some(failure.delay())
    }

    /// Returns the status of an object that is reconciled for the first time: `Available` is unknown, unless it has conditions.
    fn initial_status(&self, _object: &Self::Object, observed: &Observed<Self>) -> Option<Self::Status> {
        let mut draft = observed.draft();
        if conditions::find(draft.conditions(), conditions::AVAILABLE).is_some()
            || draft.conditions_mut().is_none()
        {
            return None;
        }
        draft.set(conditions::AVAILABLE, ConditionStatus::Unknown, "Reconciling", "Starting reconciliation");
        Some(draft.finish())
    }

    /// Returns the status of an object that is being deleted; only with a finalizer. [`Observed::problem`] is what
    /// [`Reconciler::cleanup`] waits for or failed with, if it did.
    fn finalizing_status(&self, object: &Self::Object, observed: &Observed<Self>) -> Option<Self::Status> {
        let name = object.meta().name.as_deref().unwrap_or_default();
        let mut draft = observed.draft();
        draft.conditions_mut()?;
        let message = match observed.problem() {
            None => format!("Performing finalizer operations for the custom resource: {name}"),
            Some(problem) if problem.retry => {
                format!("Failed to clean up the custom resource {name}, retrying: {}", problem.message)
            }
            Some(problem) => problem.message.clone(),
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
