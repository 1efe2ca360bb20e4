//! One reconcile: the pipeline from what was observed to the status.

use super::apply::{Applier, StepOutcome};
use super::changes::Changes;
use super::children::{ChildBody, Outlines, desired_children};
use super::error::{Error, ReconcileError};
use super::finalize::Finalizer;
use super::model::{Model, ReconcileHistory, StatusDue};
use super::object::{Key, StatusOf};
use super::observed::Observed;
use super::plan::{PlannedStep, plan};
use super::queue::ObjectQueue;
use super::reconciler::Reconciler;
use super::run::ControllerInfo;
use super::update_status::{StatusWrite, StatusWriter};
use super::watches::Watches;
use crate::backoff::backoff;
use crate::conditions::{Conditioned, find};
use crate::context::Context;
use crate::events::Event;
use crate::metrics::{ControllerMetrics, ReconcileResult};
use crate::problem::ReconcileProblem;
use futures::future::join;
use jiff::Timestamp;
use kube::Resource;
use kube::core::object::HasStatus;
use kube::runtime::controller::Action;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tracing::Instrument;

/// What the loops of all namespaces share.
pub(crate) struct Shared<R: Reconciler> {
    pub(crate) reconciler: Arc<R>,
    pub(crate) info: Arc<ControllerInfo>,
    pub(crate) context: Context,
    pub(crate) metrics: Arc<ControllerMetrics>,
    pub(crate) outlines: Outlines,
    pub(crate) pure_in_spec: bool,
    pub(crate) permits: Semaphore,
    pub(crate) queued: ObjectQueue,
    pub(crate) random: RandomState,
}

impl<R: Reconciler> Shared<R> {
    /// Removes every object of a namespace (or of all) that no longer exists from the queue.
    pub(crate) fn retain_queued(&self, namespace: Option<&str>, exists: impl Fn(&Key) -> bool) {
        let elsewhere = |key: &Key| namespace.is_some_and(|namespace| key.namespace != namespace);
        self.queued.retain(|key| elsewhere(key) || exists(key));
        self.metrics.dequeued(self.queued.depth());
    }

    /// Removes an object that no longer exists from the queue.
    pub(crate) fn dequeue(&self, key: &Key) {
        self.queued.remove(key);
        self.metrics.dequeued(self.queued.depth());
    }

    /// Whether objects are queued: then their children are created before the status of others is written.
    fn is_busy(&self) -> bool {
        self.queued.depth() > 0
    }

    pub(crate) fn random(&self) -> u64 {
        self.random.hash_one(Timestamp::now().as_nanosecond())
    }

    fn watches(&self) -> &Watches {
        &self.info.watches
    }

    fn manager(&self) -> &'static str {
        self.context.identity.name
    }

    fn finalizer(&self) -> Option<Finalizer<'_>> {
        Some(Finalizer {
            client: &self.context.client,
            resource: &self.info.resource,
            manager: self.manager(),
            name: R::FINALIZER?,
        })
    }

    fn status_writer(&self) -> StatusWriter<'_> {
        StatusWriter {
            client: &self.context.client,
            resource: &self.info.resource,
            manager: self.manager(),
            conditions: R::CONDITIONS,
        }
    }
}

/// The controller of one namespace (or of all).
pub(crate) struct Scope<R: Reconciler> {
    pub(crate) shared: Arc<Shared<R>>,
    pub(crate) model: Model<R::Object>,
}

/// What came of a plan.
#[derive(Default)]
struct ApplyOutcome {
    done: Vec<(PlannedStep, StepOutcome)>,
    /// The children, as they are applied.
    bodies: Vec<ChildBody>,
    problem: Option<ReconcileProblem>,
    /// What the reconcile fails with once the problem is reported.
    error: Option<ReconcileError>,
    /// A response contained what somebody else changed.
    outdated: bool,
    /// After which time the plan may be carried out.
    wait: Option<Duration>,
}

impl ApplyOutcome {
    fn invalid(message: impl Into<String>) -> Self {
        Self { problem: Some(ReconcileProblem::invalid(message)), ..Self::default() }
    }

    /// Returns that a method of the reconciler failed.
    fn failed(method: &'static str, reason: &str, error: Error) -> Self {
        match error {
            Error::Invalid(invalid) => Self::invalid(invalid),
            error => Self {
                problem: Some(ReconcileProblem::failed(reason, &error)),
                error: Some(ReconcileError::Reconciler { method, error }),
                ..Self::default()
            },
        }
    }
}

/// Why there are no children to apply.
enum BuildError {
    /// `desired` failed.
    Desired(Error),
    /// What `desired` returned, or what it is based on, is a mistake of the program.
    Mistake(ReconcileError),
}

impl BuildError {
    /// Returns what the reconcile reports, or fails with at once.
    fn into_outcome(self) -> Result<ApplyOutcome, ReconcileError> {
        match self {
            Self::Desired(error) => Ok(ApplyOutcome::failed("desired", "ReconcileFailed", error)),
            Self::Mistake(error) => Err(error),
        }
    }
}

impl From<ReconcileError> for BuildError {
    fn from(error: ReconcileError) -> Self {
        Self::Mistake(error)
    }
}

/// What a reconcile knows of its object.
struct ReconcileInput<O> {
    key: Key,
    object: Arc<O>,
    observed: Observed,
}

impl<R: Reconciler> Scope<R> {
    fn read(&self, stored: &Arc<R::Object>) -> ReconcileInput<R::Object> {
        let object = self.model.newest(stored);
        ReconcileInput { key: Key::from(object.meta()), observed: self.model.observe(&*object), object }
    }

    /// Reconciles one object.
    pub(crate) async fn reconcile(&self, stored: &Arc<R::Object>) -> Result<Action, ReconcileError> {
        let shared = &self.shared;
        let key = Key::from(stored.meta());
        // The semaphore is never closed.
        let _permit = shared.permits.acquire().await;
        let trace = format!("{:016x}", shared.random());
        let started = Instant::now();
        let waited = shared.queued.remove(&key);
        shared.metrics.started(waited, shared.queued.depth());
        let kind = shared.info.resource.kind.as_str();
        let span = tracing::info_span!("reconcile", kind, object = %key, trace_id = trace);
        let result = self.run_pipeline(stored).instrument(span.clone()).await;
        let _entered = span.entered();
        let ended = match &result {
            Ok(action) => {
                self.model.history(&key, ReconcileHistory::succeeded);
                tracing::debug!("reconciled");
                if *action == Action::await_change() {
                    ReconcileResult::Success
                } else if *action == Action::requeue(Duration::ZERO) {
                    ReconcileResult::Requeue
                } else {
                    ReconcileResult::RequeueAfter
                }
            }
            Err(error) => {
                tracing::warn!(%error, "reconcile failed; retrying");
                ReconcileResult::Error
            }
        };
        shared.metrics.finished(ended, started.elapsed());
        self.model.forget_if_deleted(&key);
        result
    }

    async fn run_pipeline(&self, stored: &Arc<R::Object>) -> Result<Action, ReconcileError> {
        let mut input = self.read(stored);
        if input.object.meta().deletion_timestamp.is_some() {
            return self.delete(&input).await;
        }
        if let Some(finalizer) = self.shared.finalizer().filter(|finalizer| !finalizer.is_set(&*input.object))
        {
            match finalizer.add(&*input.object, &self.model).await? {
                Some(object) => input.object = object,
                None => return Ok(Action::await_change()),
            }
        }

        let carried = match input.observed.malformed.clone() {
            Some(error) => ApplyOutcome::invalid(format!("spec: {error}")),
            None => {
                match self.shared.reconciler.reconcile_external(&input.object, &self.shared.context).await {
                    Err(error) => ApplyOutcome::failed("reconcile_external", "ExternalFailed", error),
                    Ok(external) => {
                        input.observed.external = external;
                        self.carry_out(&input).await?
                    }
                }
            }
        };
        let ApplyOutcome { done, bodies, problem, error, outdated, wait } = carried;
        let action = self.report(&input, &done, problem, stored).await?;
        if let Some(error) = error {
            return Err(error);
        }
        if outdated || self.asks_for_more(&input, &done, &bodies, stored)? {
            return Ok(Action::requeue(Duration::ZERO));
        }
        // Only the first of several requeues counts.
        Ok(match wait {
            Some(wait) if action != Action::requeue(Duration::ZERO) => Action::requeue(wait),
            _ => action,
        })
    }

    /// Returns the children that an object should have, as they are applied.
    fn build(&self, object: &R::Object, observed: &Observed) -> Result<Vec<ChildBody>, BuildError> {
        let shared = &self.shared;
        let desired = shared.reconciler.desired(object, observed);
        observed.check_views()?;
        let children = desired.map_err(BuildError::Desired)?;
        Ok(children.into_bodies(object, shared.watches(), &shared.context.identity)?)
    }

    /// Whether what was just written has the object ask for other children: the watch will report it as known.
    fn asks_for_more(
        &self,
        input: &ReconcileInput<R::Object>,
        done: &[(PlannedStep, StepOutcome)],
        bodies: &[ChildBody],
        stored: &Arc<R::Object>,
    ) -> Result<bool, ReconcileError> {
        if !wrote(done.iter().map(|(_, done)| done)) || self.shared.pure_in_spec {
            return Ok(false);
        }
        let mut seen = self.read(stored);
        seen.observed.external = input.observed.external.clone();
        match self.build(&seen.object, &seen.observed) {
            Ok(now) => Ok(now != bodies),
            Err(BuildError::Desired(Error::Invalid(_))) => Ok(false),
            Err(BuildError::Desired(error)) => Err(ReconcileError::Reconciler { method: "desired", error }),
            Err(BuildError::Mistake(error)) => Err(error),
        }
    }

    /// Writes what differs and, at the same time, the initial status of a new object.
    async fn carry_out(&self, input: &ReconcileInput<R::Object>) -> Result<ApplyOutcome, ReconcileError> {
        let shared = &self.shared;
        let uid = input.object.meta().uid.as_deref().unwrap_or_default();
        let build = || self.build(&input.object, &input.observed);
        // What one generation asks for is built once, unless something has to be written.
        let generation = (uid.to_owned(), input.object.meta().generation);
        let known = self.model.history(&input.key, |history| history.desired(&generation));
        let (wanted, bodies) = match known {
            Some(wanted) => (wanted, None),
            None => match build() {
                Err(error) => return error.into_outcome(),
                Ok(bodies) => {
                    let wanted = Arc::new(desired_children(&bodies, &shared.outlines));
                    if shared.pure_in_spec {
                        let (generation, wanted) = (generation.clone(), Arc::clone(&wanted));
                        self.model
                            .history(&input.key, |history| history.remember_desired(generation, wanted));
                    }
                    (wanted, Some(bodies))
                }
            },
        };
        let find = |kind: usize, key: &Key| self.model.child(kind).get(key);
        let plan = plan(&wanted, &input.observed, shared.watches(), find, uid);
        if plan.is_empty() {
            return Ok(ApplyOutcome::default());
        }
        let random = shared.random();
        let wait = self
            .model
            .history(&input.key, |history| history.writes.wait(&generation, Instant::now(), random));
        if let Some(wait) = wait {
            tracing::warn!(
                seconds = wait.as_secs_f64(),
                "the children change again and again; waiting before they are written"
            );
            return Ok(ApplyOutcome { wait: Some(wait), ..ApplyOutcome::default() });
        }
        let bodies = match bodies.map_or_else(build, Ok) {
            Ok(bodies) => bodies,
            Err(error) => return error.into_outcome(),
        };
        let initial = async {
            let initial = shared.reconciler.initial_status(&input.object, &input.observed);
            let mut initial = initial.filter(|_| !shared.is_busy())?;
            shared.reconciler.complete_status(&input.object, &mut initial);
            let written =
                shared.status_writer().write(&input.key, &*input.object, &initial, &self.model).await;
            if written.is_ok() {
                self.model.history(&input.key, |history| history.initial_status_written(Instant::now()));
            }
            Some(written)
        };
        let applier = Applier {
            client: &shared.context.client,
            manager: shared.manager(),
            owner: &input.key,
            owner_kind: &shared.info.resource.kind,
            uid,
            watches: shared.watches(),
            children: self.model.children(),
        };
        let (done, initial) = join(applier.carry_out(&plan, &bodies), initial).await;
        if wrote(&done) {
            self.model.history(&input.key, |history| history.writes.spend(generation, Instant::now()));
        }
        let outdated = match initial {
            Some(Ok(written)) => written.is_outdated(),
            // The status that follows is written anyway, and what was done to the children has to be reported.
            Some(Err(error)) => {
                tracing::warn!(%error, "failed to write the initial status");
                false
            }
            None => false,
        };
        let problem = done.iter().find_map(|done| match done {
            StepOutcome::Failed(problem) => Some(problem.clone()),
            _ => None,
        });
        let retried = problem.as_ref().filter(|problem: &&ReconcileProblem| problem.retry);
        let error = retried.map(|problem| ReconcileError::Apply(problem.message.clone()));
        let done = plan.into_iter().zip(done).collect();
        Ok(ApplyOutcome { done, bodies, problem, error, outdated, wait: None })
    }

    /// Writes status and events, and returns when to reconcile again.
    async fn report(
        &self,
        input: &ReconcileInput<R::Object>,
        done: &[(PlannedStep, StepOutcome)],
        problem: Option<ReconcileProblem>,
        stored: &Arc<R::Object>,
    ) -> Result<Action, ReconcileError> {
        let (shared, reconciler) = (&self.shared, &self.shared.reconciler);
        // Read again: the responses to the writes are part of the status.
        let mut seen = self.read(stored);
        seen.observed.problem = problem;
        seen.observed.external = input.observed.external.clone();
        let mut after = reconciler.status(&seen.object, &seen.observed);
        reconciler.complete_status(&seen.object, &mut after);
        let mut new = Vec::new();
        let generation = input.object.meta().generation;
        let reported = |status: &StatusOf<R::Object>| {
            let mut own = R::CONDITIONS.iter().filter_map(|kind| find(status.conditions(), kind));
            own.any(|condition| condition.observed_generation == generation)
        };
        let changes = Changes {
            watches: shared.watches(),
            done,
            before: &input.observed,
            new_spec: !input.object.status().is_some_and(reported),
        };
        if changes.iter().next().is_some() {
            new = reconciler.events(&input.object, &changes);
        }
        seen.observed.check_views()?;
        input.observed.check_views()?;
        let busy = shared.is_busy();
        let (due, notes) = self.model.history(&input.key, |history| {
            history.report(input.object.status(), seen.object.status(), &after, new, busy, Instant::now())
        });
        for note in notes {
            shared.context.recorder.record(&*seen.object, note);
        }
        let mut outdated = false;
        let mut wait = match due {
            StatusDue::Never => None,
            StatusDue::After(wait) => Some(wait),
            StatusDue::Now => {
                let written =
                    shared.status_writer().write(&input.key, &*seen.object, &after, &self.model).await?;
                outdated = written.is_outdated();
                None
            }
        };
        let again = [seen.observed.external.again, reconciler.requeue(&seen.object, &seen.observed)];
        for again in again.into_iter().flatten() {
            wait = Some(wait.map_or(again, |wait| wait.min(again)));
        }
        // What blocked a child may have disappeared before this reconcile waited for it.
        let unblocked = done.iter().any(|(planned, done)| {
            matches!(done, StepOutcome::Failed(problem) if !problem.retry)
                && self.model.child(planned.kind).get(&planned.key).is_none()
        });
        // The watch events of what a response contained will look like echoes of own writes.
        if outdated || unblocked {
            return Ok(Action::requeue(Duration::ZERO));
        }
        Ok(wait.map_or_else(Action::await_change, Action::requeue))
    }

    /// Reports the deletion, cleans up, then removes the finalizer.
    async fn delete(&self, input: &ReconcileInput<R::Object>) -> Result<Action, ReconcileError> {
        let (shared, reconciler) = (&self.shared, &self.shared.reconciler);
        let Some(finalizer) = shared.finalizer().filter(|finalizer| finalizer.is_set(&*input.object)) else {
            return Ok(Action::await_change());
        };
        let known = self.model.history(&input.key, |history| history.cleanup_problem());
        if !self.report_deletion(input, known.clone()).await? {
            return Ok(Action::await_change());
        }
        let newest = self.model.newest(&input.object);
        if let Err(error) = reconciler.cleanup(&newest, &shared.context).await {
            let problem = ReconcileProblem::failed("CleanupFailed", &error);
            if self.model.history(&input.key, |history| history.cleanup_failed(&problem)) {
                let note = Event::warning(&problem.reason, "Delete", &problem.message);
                shared.context.recorder.record(&*input.object, note);
                self.report_deletion(input, Some(problem)).await?;
            }
            return Err(ReconcileError::Reconciler { method: "cleanup", error });
        }
        let newest = self.model.newest(&input.object);
        finalizer.remove(&*newest, &self.model).await?;
        Ok(Action::await_change())
    }

    /// Writes the status of a deletion, and what `cleanup` failed with; returns whether the object still exists.
    async fn report_deletion(
        &self,
        input: &ReconcileInput<R::Object>,
        problem: Option<ReconcileProblem>,
    ) -> Result<bool, ReconcileError> {
        let shared = &self.shared;
        let mut seen = self.read(&input.object);
        let new = problem.is_none();
        seen.observed.problem = problem;
        let status = shared.reconciler.finalizing_status(&seen.object, &seen.observed);
        seen.observed.check_views()?;
        let Some(mut status) = status else { return Ok(true) };
        shared.reconciler.complete_status(&seen.object, &mut status);
        if seen.object.status() == Some(&status) {
            return Ok(true);
        }
        if new {
            let note = finalizing(&shared.info.resource.kind, &input.key.name);
            shared.context.recorder.record(&*seen.object, note);
        }
        match shared.status_writer().write(&input.key, &*seen.object, &status, &self.model).await {
            Ok(written) => Ok(written != StatusWrite::Gone),
            // The status is for people; the deletion does not depend on it.
            Err(error) => {
                tracing::warn!(%error, "failed to report the deletion; cleaning up anyway");
                Ok(true)
            }
        }
    }

    /// Returns when to retry after a failure.
    pub(crate) fn after_failure(&self, object: &R::Object, error: &ReconcileError) -> Action {
        let key = Key::from(object.meta());
        let failures = self.model.history(&key, ReconcileHistory::failed);
        let wait = backoff(failures, self.shared.random());
        self.model.forget_if_deleted(&key);
        // The watch is about to report the write that caused the conflict.
        Action::requeue(if error.is_conflict() { wait.min(Duration::from_millis(250)) } else { wait })
    }
}

/// Returns the event of a deletion.
fn finalizing(kind: &str, name: &str) -> Event {
    Event::normal(
        "Finalizing",
        "Delete",
        format!("{kind} {name} is being deleted together with what it owns"),
    )
}

/// Whether a step changed a child.
fn wrote<'a>(done: impl IntoIterator<Item = &'a StepOutcome>) -> bool {
    done.into_iter()
        .any(|done| matches!(done, StepOutcome::Created | StepOutcome::Updated | StepOutcome::Deleted))
}
