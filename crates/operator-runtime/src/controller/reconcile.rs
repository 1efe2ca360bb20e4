//! One reconcile: the pipeline from what was observed to the status.

use super::apply::api;
use super::apply::{Applier, StepOutcome};
use super::changes::Changes;
use super::children::{ChildBody, Outlines, OwnBody, desired_children};
use super::error::{Error, Failure, ReconcileError};
use super::external::{CallResult, Cleanup, External, timed_out};
use super::external_memo::{Input, Memos};
use super::finalize::Finalizer;
use super::model::{Model, ReconcileHistory, ReferenceFailure, StatusDue};
use super::object::Key;
use super::observed::Observed;
use super::plan::{PlannedStep, plan};
use super::queue::ObjectQueue;
use super::reconciler::Reconciler;
use super::run::ControllerInfo;
use super::stored::{Stored, is_nothing};
use super::update_status::{StatusWrite, StatusWriter};
use super::watches::Declared;
use crate::backoff::backoff;
use crate::conditions::{Draft, Status, find};
use crate::context::Context;
use crate::events::Event;
use crate::lock::lock;
use crate::metrics::{ControllerMetrics, ReconcileResult};
use crate::problem::{ReconcileProblem, shortened};
use futures::FutureExt;
use futures::future::join;
use jiff::Timestamp;
use kube::Resource;
use kube::api::{Patch, PatchParams};
use kube::runtime::controller::Action;
use std::hash::{BuildHasher, RandomState};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};
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

    fn declared(&self) -> &Declared {
        &self.info.declared
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
    /// What was found outside of the API server.
    pub(crate) external: Mutex<Memos<R::External>>,
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
                error: Some(ReconcileError::of_method(method, error)),
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
    /// Returns what the reconcile reports.
    fn into_outcome(self) -> ApplyOutcome {
        match self {
            Self::Desired(error) => ApplyOutcome::failed("desired", "ReconcileFailed", error),
            Self::Mistake(error) => ApplyOutcome {
                problem: Some(ReconcileProblem::failed("InvalidDesiredState", &error)),
                error: Some(error),
                ..ApplyOutcome::default()
            },
        }
    }
}

impl From<ReconcileError> for BuildError {
    fn from(error: ReconcileError) -> Self {
        Self::Mistake(error)
    }
}

/// What a reconcile knows of its object.
struct ReconcileInput<R: Reconciler> {
    key: Key,
    stored: Arc<Stored<R::Object>>,
    object: Arc<R::Object>,
    observed: Observed<R>,
    /// A reference that cannot be followed.
    reference_failure: Option<ReferenceFailure>,
}

impl<R: Reconciler> Scope<R> {
    pub(crate) fn new(shared: Arc<Shared<R>>, model: Model<R::Object>) -> Self {
        Self { shared, model, external: Mutex::default() }
    }

    /// Returns what is known of a valid object now; `None` if it cannot be parsed.
    fn read(&self, stored: &Arc<Stored<R::Object>>) -> Option<ReconcileInput<R>> {
        let stored = self.model.newest(stored);
        let object = Arc::clone(stored.valid()?);
        let (snapshot, reference_failure) = self.model.observe(&stored);
        let observed = Observed::<R>::from_snapshot(snapshot, &*object, self.shared.context.platform);
        Some(ReconcileInput { key: Key::from(object.meta()), stored, object, observed, reference_failure })
    }

    /// Reconciles one object.
    pub(crate) async fn reconcile(&self, stored: &Arc<Stored<R::Object>>) -> Result<Action, ReconcileError> {
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
        let pipeline = AssertUnwindSafe(self.run_pipeline(stored)).catch_unwind();
        let result = match pipeline.instrument(span.clone()).await {
            Ok(result) => result,
            Err(panic) => {
                let error = ReconcileError::Panic(panic_message(&*panic));
                self.report_panic(stored, &error).instrument(span.clone()).await;
                Err(error)
            }
        };
        let _entered = span.entered();
        let ended = match &result {
            Ok(action) => {
                self.model.history(&key, ReconcileHistory::succeeded);
                tracing::debug!("reconciled");
                ReconcileResult::after(action)
            }
            Err(error) => {
                tracing::warn!(error = shortened(error), "reconcile failed");
                ReconcileResult::Error
            }
        };
        shared.metrics.finished(ended, started.elapsed());
        shared.metrics.ended();
        self.forget_if_deleted(&key);
        result
    }

    /// Forgets an object that was deleted during its reconcile.
    fn forget_if_deleted(&self, key: &Key) {
        self.model.forget_if_deleted(key);
        if !self.model.exists(key) {
            lock(&self.external).forget(key);
        }
    }

    async fn run_pipeline(&self, stored: &Arc<Stored<R::Object>>) -> Result<Action, ReconcileError> {
        let newest = self.model.newest(stored);
        if let Stored::Malformed(malformed) = &*newest {
            let problem = ReconcileProblem::invalid(format!("spec: {}", malformed.error));
            return self.handle_malformed(&newest, problem).await;
        }
        self.find_unwatched(&newest).await?;
        let Some(mut input) = self.read(stored) else { return Ok(Action::requeue(Duration::ZERO)) };
        if input.object.meta().deletion_timestamp.is_some() {
            return self.delete(input).await;
        }
        if let Some(finalizer) = self.shared.finalizer().filter(|finalizer| !finalizer.is_set(&*input.stored))
        {
            match finalizer.add(&*input.stored, &self.model).await? {
                Some(written) => match written.valid() {
                    Some(object) => (input.object, input.stored) = (Arc::clone(object), written),
                    None => return Ok(Action::requeue(Duration::ZERO)),
                },
                None => return Ok(Action::await_change()),
            }
        }

        let carried = match &input.reference_failure {
            // Objects that cannot be listed would look deleted.
            Some(ReferenceFailure::Unreadable(_)) => ApplyOutcome::default(),
            _ => match self.ask_external(&input).await {
                (CallResult::Failed(problem), again, error) => {
                    ApplyOutcome { problem: Some(problem), error, wait: again, ..ApplyOutcome::default() }
                }
                (CallResult::Invalid(problem), ..) => {
                    ApplyOutcome { problem: Some(problem), ..ApplyOutcome::default() }
                }
                (CallResult::Found(found), again, _) => {
                    input.observed.external = External { again, ..found };
                    self.carry_out(&input).await?
                }
            },
        };
        let ApplyOutcome { done, bodies, problem, error, outdated, wait } = carried;
        let problem = problem.or_else(|| input.reference_failure.as_ref().map(ReferenceFailure::problem));
        let again = self.report(&input, &done, problem, stored).await?;
        if let Some(error) = error {
            self.model.history(&input.key, |history| history.again_within(again));
            return Err(error);
        }
        if outdated || self.asks_for_more(&input, &done, &bodies, stored)? {
            return Ok(Action::requeue(Duration::ZERO));
        }
        // Only one of several requeues counts.
        let again = again.into_iter().chain(wait).min();
        Ok(again.map_or_else(Action::await_change, Action::requeue))
    }

    /// Finds out what became of children that the watch does not report: they are gone, or lost their label.
    async fn find_unwatched(&self, stored: &Stored<R::Object>) -> Result<(), ReconcileError> {
        let owner = Key::from(stored.meta());
        let uid = stored.meta().uid.as_deref().unwrap_or_default();
        for (kind, table) in self.shared.declared().children.iter().zip(self.model.children()) {
            let unwatched = lock(table).unwatched(&owner, uid);
            for key in unwatched {
                match api(&self.shared.context.client, &key.namespace, &kind.resource).get(&key.name).await {
                    Ok(found) => lock(table).found(&found, self.shared.manager()),
                    Err(kube::Error::Api(status)) if status.is_not_found() => lock(table).gone(&key),
                    Err(source) => return Err(ReconcileError::Read { source: Box::new(source) }),
                }
            }
        }
        Ok(())
    }

    /// Returns what there is outside of the API server, when to ask again and, if a call was made that failed, its error.
    async fn ask_external(
        &self,
        input: &ReconcileInput<R>,
    ) -> (CallResult<R::External>, Option<Duration>, Option<ReconcileError>) {
        let shared = &self.shared;
        let known = Input::new(&*input.object, &input.observed.snapshot);
        if let Some((result, left)) = lock(&self.external).get(&input.key, &known, Instant::now()) {
            return (result, Some(left), None);
        }
        let call = shared.reconciler.reconcile_external(&input.object, &input.observed, &shared.context);
        let result = tokio::time::timeout(R::EXTERNAL_TIMEOUT, call).await;
        let (result, again, error) = match result.unwrap_or_else(|_| Err(timed_out(R::EXTERNAL_TIMEOUT))) {
            Ok(found) => {
                let again = found.again.map(within_limits);
                (CallResult::Found(found), again, None)
            }
            Err(Error::Invalid(invalid)) => {
                (CallResult::Invalid(ReconcileProblem::invalid(invalid)), Some(NEVER), None)
            }
            Err(error) => {
                let failures = self.model.history(&input.key, |history| history.failures()) + 1;
                let problem = ReconcileProblem::failed("ExternalFailed", &error);
                let mut error = ReconcileError::of_method("reconcile_external", error);
                let after = self.retry(&error, failures);
                let after = after.unwrap_or(NEVER);
                error.decide(after);
                (CallResult::Failed(problem), Some(after), Some(error))
            }
        };
        let until = again.map(|again| Instant::now() + again);
        lock(&self.external).set(&input.key, known, until, &result);
        (result, again, error)
    }

    /// Returns the children that an object should have, as they are applied, and the metadata of the object itself.
    fn build(
        &self,
        object: &R::Object,
        observed: &Observed<R>,
    ) -> Result<(Vec<ChildBody>, OwnBody), BuildError> {
        let shared = &self.shared;
        let desired = shared.reconciler.desired(object, observed);
        if observed.used_foreign_handle() {
            return Err(ReconcileError::ForeignHandle.into());
        }
        let children = desired.map_err(BuildError::Desired)?;
        Ok(children.into_bodies(object, shared.declared(), &shared.context.identity)?)
    }

    /// Whether what was just written has the object ask for other children: the watch will report it as known.
    fn asks_for_more(
        &self,
        input: &ReconcileInput<R>,
        done: &[(PlannedStep, StepOutcome)],
        bodies: &[ChildBody],
        stored: &Arc<Stored<R::Object>>,
    ) -> Result<bool, ReconcileError> {
        if !wrote(done.iter().map(|(_, done)| done)) || self.shared.pure_in_spec {
            return Ok(false);
        }
        let Some(mut seen) = self.read(stored) else { return Ok(true) };
        seen.observed.external = input.observed.external.clone();
        match self.build(&seen.object, &seen.observed) {
            Ok((now, _)) => Ok(now != bodies),
            Err(BuildError::Desired(Error::Invalid(_))) => Ok(false),
            Err(BuildError::Desired(error)) => Err(ReconcileError::of_method("desired", error)),
            Err(BuildError::Mistake(error)) => Err(error),
        }
    }

    /// Writes what differs and, at the same time, the initial status of a new object.
    async fn carry_out(&self, input: &ReconcileInput<R>) -> Result<ApplyOutcome, ReconcileError> {
        let shared = &self.shared;
        let uid = input.object.meta().uid.as_deref().unwrap_or_default();
        let build = || self.build(&input.object, &input.observed);
        // What one generation asks for is built once, unless something has to be written.
        let generation = (uid.to_owned(), input.object.meta().generation);
        let known = self.model.history(&input.key, |history| history.desired(&generation));
        let remembers = shared.pure_in_spec && generation.1.is_some() && !shared.declared().own_metadata;
        let (wanted, result) = match known {
            Some(wanted) => (wanted, None),
            None => match build() {
                Err(error) => return Ok(error.into_outcome()),
                Ok(result) => {
                    let wanted = Arc::new(desired_children(&result.0, &shared.outlines));
                    if remembers {
                        let (generation, wanted) = (generation.clone(), Arc::clone(&wanted));
                        self.model
                            .history(&input.key, |history| history.remember_desired(generation, wanted));
                    }
                    (wanted, Some(result))
                }
            },
        };
        let find = |kind: usize, key: &Key| self.model.child(kind).get(key);
        let plan = plan(&wanted, &input.observed.snapshot, shared.declared(), find, uid);
        let own = result.as_ref().and_then(|(_, own)| own.patch(&*input.object));
        if plan.is_empty() && own.is_none() {
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
        let (bodies, _) = match result.map_or_else(build, Ok) {
            Ok(result) => result,
            Err(error) => return Ok(error.into_outcome()),
        };
        let relabelled = match own {
            Some(metadata) => self.write_own_metadata(input, metadata).await?,
            None => false,
        };
        let initial = async {
            if is_nothing::<R::Status>() || relabelled {
                return None;
            }
            let initial = shared.reconciler.initial_status(&input.object, &input.observed);
            let mut initial = initial.filter(|_| !shared.is_busy())?;
            shared.reconciler.complete_status(input.object.meta(), &mut initial);
            let written =
                shared.status_writer().write(&input.key, &*input.stored, &initial, &self.model).await;
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
            declared: shared.declared(),
            children: self.model.children(),
        };
        let (done, initial) = join(applier.carry_out(&plan, &bodies), initial).await;
        if relabelled || wrote(&done) {
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
        let outdated = outdated || relabelled || done.contains(&StepOutcome::Found);
        let problem = done.iter().find_map(|done| match done {
            StepOutcome::Failed(problem) => Some(problem.clone()),
            _ => None,
        });
        let retried = problem.as_ref().filter(|problem: &&ReconcileProblem| problem.retry);
        let error = retried.map(|problem| ReconcileError::Apply(problem.message.clone()));
        let done = plan.into_iter().zip(done).collect();
        Ok(ApplyOutcome { done, bodies, problem, error, outdated, wait: None })
    }

    /// Writes labels and annotations of the object itself; returns whether it still exists.
    async fn write_own_metadata(
        &self,
        input: &ReconcileInput<R>,
        mut metadata: serde_json::Value,
    ) -> Result<bool, ReconcileError> {
        metadata["uid"] = serde_json::json!(input.object.meta().uid);
        let patch = Patch::Merge(serde_json::json!({ "metadata": metadata }));
        let manager = self.shared.manager().to_owned();
        let params = PatchParams { field_manager: Some(manager), ..PatchParams::default() };
        let api = api(&self.shared.context.client, &input.key.namespace, &self.shared.info.resource);
        match api.patch(&input.key.name, &params, &patch).await {
            Ok(response) => {
                let written = self.model.object_written(response);
                if let Some(object) = written.valid() {
                    let input = Input::new(&**object, &input.observed.snapshot);
                    lock(&self.external).rebase(&Key::from(object.meta()), input);
                }
                Ok(true)
            }
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(false),
            Err(source) => Err(ReconcileError::Write { part: "metadata", source: Box::new(source) }),
        }
    }

    /// Writes status and events, and returns after which time to reconcile again.
    async fn report(
        &self,
        input: &ReconcileInput<R>,
        done: &[(PlannedStep, StepOutcome)],
        problem: Option<ReconcileProblem>,
        stored: &Arc<Stored<R::Object>>,
    ) -> Result<Option<Duration>, ReconcileError> {
        let (shared, reconciler) = (&self.shared, &self.shared.reconciler);
        // Read again: the responses to the writes are part of the status.
        let Some(mut seen) = self.read(stored) else { return Ok(Some(Duration::ZERO)) };
        seen.observed.problem = problem;
        seen.observed.external = input.observed.external.clone();
        let mut after = reconciler.status(&seen.object, &seen.observed);
        reconciler.complete_status(seen.object.meta(), &mut after);
        let generation = input.object.meta().generation;
        let reported = |status: &R::Status| {
            let mut own = R::CONDITIONS.iter().filter_map(|kind| find(status.conditions(), kind));
            own.any(|condition| condition.observed_generation == generation)
        };
        let changes = Changes {
            declared: shared.declared(),
            done,
            before: &input.observed.snapshot,
            new_spec: !input.observed.status().is_some_and(reported),
        };
        let new_status =
            self.model.history(&input.key, |history| history.is_new_status(seen.observed.status(), &after));
        let mut new = Vec::new();
        if new_status || changes.iter().next().is_some() {
            new = reconciler.events(&input.object, &seen.observed, &changes);
        }
        if seen.observed.used_foreign_handle() || input.observed.used_foreign_handle() {
            return Err(ReconcileError::ForeignHandle);
        }
        let (mut wait, outdated) = self
            .write_report(
                &input.key,
                &seen.stored,
                input.observed.status(),
                &after,
                seen.observed.problem(),
                new,
            )
            .await?;
        let requeue = reconciler.requeue(&seen.object, &seen.observed).map(within_limits);
        let again = [seen.observed.external.again, requeue];
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
            return Ok(Some(Duration::ZERO));
        }
        Ok(wait)
    }

    /// Writes a status and events as far as they are due; returns when the status is, and whether a response contained what
    /// somebody else changed.
    async fn write_report(
        &self,
        key: &Key,
        seen: &Stored<R::Object>,
        read: Option<&R::Status>,
        after: &R::Status,
        problem: Option<&ReconcileProblem>,
        mut new: Vec<Event>,
    ) -> Result<(Option<Duration>, bool), ReconcileError> {
        let shared = &self.shared;
        if after.clone().conditions_mut().is_none() {
            // There is no condition that would show it.
            new.extend(self.model.history(key, |history| history.new_problem(problem)));
        }
        let busy = shared.is_busy();
        let newest = seen.status::<R::Status>();
        let newest = if is_nothing::<R::Status>() { Some(after) } else { newest.as_ref() };
        let (due, notes) =
            self.model.history(key, |history| history.report(read, newest, after, new, busy, Instant::now()));
        for note in notes {
            shared.context.recorder.record(seen, note);
        }
        Ok(match due {
            StatusDue::Never => (None, false),
            StatusDue::After(wait) => (Some(wait), false),
            StatusDue::Now => {
                let hold = self.model.hold(key);
                let written = shared.status_writer().write(key, seen, after, &self.model).await;
                let changed = hold.release();
                if changed && written.is_err() {
                    self.model.history(key, |history| history.again_within(Some(Duration::ZERO)));
                }
                (None, written?.is_outdated() || changed)
            }
        })
    }

    /// Reports a problem of an object that the reconciler cannot report: the object cannot be parsed, or the reconciler failed.
    async fn report_problem(
        &self,
        stored: &Stored<R::Object>,
        problem: &ReconcileProblem,
    ) -> Result<Option<Duration>, ReconcileError> {
        let read = stored.status::<R::Status>();
        let generation = stored.meta().generation;
        let mut draft = Draft::new(read.clone().unwrap_or_default(), generation, Timestamp::now());
        draft.degraded(Some(problem));
        let mut after = draft.finish();
        self.shared.reconciler.complete_status(stored.meta(), &mut after);
        let key = Key::from(stored.meta());
        let (wait, outdated) =
            self.write_report(&key, stored, read.as_ref(), &after, Some(problem), Vec::new()).await?;
        Ok(if outdated { Some(Duration::ZERO) } else { wait })
    }

    async fn report_panic(&self, stored: &Arc<Stored<R::Object>>, error: &ReconcileError) {
        let newest = self.model.newest(stored);
        let problem = ReconcileProblem::failed("ReconcilePanicked", error);
        tracing::error!(error = shortened(error), "the reconciler panicked");
        let reported = AssertUnwindSafe(self.report_problem(&newest, &problem)).catch_unwind().await;
        if let Ok(Ok(again)) = reported {
            self.model.history(&Key::from(stored.meta()), |history| history.again_within(again));
        } else {
            tracing::warn!("failed to report the panic");
        }
    }

    /// Reports an object that cannot be parsed, or lets it go if it is being deleted.
    async fn handle_malformed(
        &self,
        stored: &Arc<Stored<R::Object>>,
        problem: ReconcileProblem,
    ) -> Result<Action, ReconcileError> {
        if stored.meta().deletion_timestamp.is_none() {
            let again = self.report_problem(stored, &problem).await?;
            return Ok(again.map_or_else(Action::await_change, Action::requeue));
        }
        let Some(finalizer) = self.shared.finalizer().filter(|finalizer| finalizer.is_set(&**stored)) else {
            return Ok(Action::await_change());
        };
        let call = self.shared.reconciler.cleanup_malformed(stored.meta(), &self.shared.context);
        match within(R::EXTERNAL_TIMEOUT, call).await {
            Ok(Cleanup::Done) => {
                finalizer.remove(&**stored, &self.model).await?;
                Ok(Action::await_change())
            }
            Ok(Cleanup::Waiting { again_after, .. }) => Ok(Action::requeue(within_limits(again_after))),
            Err(error) => Err(ReconcileError::of_method("cleanup_malformed", error)),
        }
    }

    /// Reports the deletion, cleans up, then removes the finalizer.
    async fn delete(&self, mut input: ReconcileInput<R>) -> Result<Action, ReconcileError> {
        let (shared, reconciler) = (&self.shared, &self.shared.reconciler);
        let Some(finalizer) = shared.finalizer().filter(|finalizer| finalizer.is_set(&*input.stored)) else {
            return Ok(Action::await_change());
        };
        let (known, left) = self.model.history(&input.key, |history| history.cleanup(Instant::now()));
        // To `cleanup`, objects that cannot be listed would look deleted.
        let unreadable =
            input.reference_failure.as_ref().filter(|why| matches!(why, ReferenceFailure::Unreadable(_)));
        let known = unreadable.map(ReferenceFailure::problem).or(known);
        if !self.report_deletion(&input, known).await? || unreadable.is_some() {
            return Ok(Action::await_change());
        }
        if let Some(left) = left {
            return Ok(Action::requeue(left));
        }
        let newest = self.model.newest(&input.stored);
        if let Some(object) = newest.valid() {
            input.object = Arc::clone(object);
        }
        let call = reconciler.cleanup(&input.object, &input.observed, &shared.context);
        match within(R::EXTERNAL_TIMEOUT, call).await {
            Ok(Cleanup::Done) => {
                let newest = self.model.newest(&input.stored);
                finalizer.remove(&*newest, &self.model).await?;
                Ok(Action::await_change())
            }
            Ok(Cleanup::Waiting { message, again_after }) => {
                let again_after = within_limits(again_after);
                let problem = ReconcileProblem::new("Finalizing", message);
                let until = Some(Instant::now() + again_after);
                if self.model.history(&input.key, |history| history.cleanup_ended(&problem, until)) {
                    self.report_deletion(&input, Some(problem)).await?;
                }
                Ok(Action::requeue(again_after))
            }
            Err(error) => {
                let problem = ReconcileProblem::failed("CleanupFailed", &error);
                let until = error.after().map(|after| Instant::now() + within_limits(after));
                if self.model.history(&input.key, |history| history.cleanup_ended(&problem, until)) {
                    let note = Event::warning(&problem.reason, "Delete", &problem.message);
                    shared.context.recorder.record(&*input.object, note);
                    self.report_deletion(&input, Some(problem)).await?;
                }
                Err(ReconcileError::of_method("cleanup", error))
            }
        }
    }

    /// Writes the status of a deletion, and what `cleanup` waits for or failed with; returns whether the object still exists.
    async fn report_deletion(
        &self,
        input: &ReconcileInput<R>,
        problem: Option<ReconcileProblem>,
    ) -> Result<bool, ReconcileError> {
        let shared = &self.shared;
        let Some(mut seen) = self.read(&input.stored) else { return Ok(true) };
        let new = problem.is_none();
        seen.observed.problem = problem;
        let status = shared.reconciler.finalizing_status(&seen.object, &seen.observed);
        if seen.observed.used_foreign_handle() {
            return Err(ReconcileError::ForeignHandle);
        }
        let Some(mut status) = status.filter(|_| !is_nothing::<R::Status>()) else { return Ok(true) };
        shared.reconciler.complete_status(seen.object.meta(), &mut status);
        if seen.observed.status() == Some(&status) {
            return Ok(true);
        }
        if new {
            let note = finalizing(&shared.info.resource.kind, &input.key.name);
            shared.context.recorder.record(&*seen.object, note);
        }
        match shared.status_writer().write(&input.key, &*seen.stored, &status, &self.model).await {
            Ok(written) => Ok(written != StatusWrite::Gone),
            // The status is for people; the deletion does not depend on it.
            Err(error) => {
                tracing::warn!(%error, "failed to report the deletion; cleaning up anyway");
                Ok(true)
            }
        }
    }

    /// Returns what follows a failure.
    pub(crate) fn after_failure(&self, object: &Stored<R::Object>, error: &ReconcileError) -> Action {
        let key = Key::from(object.meta());
        let (failures, again) =
            self.model.history(&key, |history| (history.failed(), history.take_again().unwrap_or(NEVER)));
        let wait = error.decided().unwrap_or_else(|| {
            if error.is_conflict() {
                // The watch is about to report the write that caused the conflict.
                let wait = backoff(failures, self.shared.random());
                return wait.min(Duration::from_millis(250));
            }
            self.retry(error, failures).unwrap_or(NEVER)
        });
        self.forget_if_deleted(&key);
        let wait = wait.min(again);
        if wait >= NEVER {
            return Action::await_change();
        }
        self.shared.metrics.retried();
        Action::requeue(wait)
    }

    /// Returns after which time the reconciler repeats what failed.
    fn retry(&self, error: &ReconcileError, attempts: u32) -> Option<Duration> {
        let failure = Failure { error, attempts, random: self.shared.random() };
        let decide = AssertUnwindSafe(|| self.shared.reconciler.retry(&failure));
        let after = std::panic::catch_unwind(decide).unwrap_or_else(|panic| {
            tracing::error!(panic = panic_message(&*panic), "`retry` panicked");
            Some(failure.delay())
        });
        after.map(within_limits)
    }
}

/// The shortest time until an object is reconciled again because the reconciler asks for it, not because something changed.
const MIN_REQUEUE: Duration = Duration::from_millis(100);
/// Until something changes. (Timers end after two years.)
const NEVER: Duration = Duration::from_hours(365 * 24);

/// Returns a time that the reconciler returned, often what an external system answered, at least [`MIN_REQUEUE`] and at most [`NEVER`].
fn within_limits(time: Duration) -> Duration {
    time.clamp(MIN_REQUEUE, NEVER)
}

/// Returns what a call ends with, or an error if it takes too long.
async fn within<T>(limit: Duration, call: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    tokio::time::timeout(limit, call).await.unwrap_or_else(|_| Err(timed_out(limit)))
}

/// Returns the message of a panic.
fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
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
