//! One reconcile: the pipeline from what was observed to the status.

use super::apply::{Applier, Done};
use super::changes::Changes;
use super::children::{Body, Outlines, Wanted, wanted};
use super::error::{Error, Invalid};
use super::finalize::Finalizer;
use super::info::ControllerInfo;
use super::key::Key;
use super::object::StatusOf;
use super::observed::{Caches, Observed};
use super::owns::Owns;
use super::plan::{Planned, plan};
use super::queued::Queued;
use super::reconciler::Reconciler;
use super::update_status::{Due, StatusHistory, StatusWriter, due};
use crate::backoff::backoff;
use crate::conditions::{Conditioned, DEGRADED, find};
use crate::context::Context;
use crate::events::Note;
use crate::metrics::{ControllerMetrics, ReconcileResult};
use crate::problem::Problem;
use futures::future::join;
use jiff::Timestamp;
use kube::Resource;
use kube::core::object::HasStatus;
use kube::runtime::controller::Action;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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
    pub(crate) by_generation: bool,
    pub(crate) permits: Semaphore,
    pub(crate) queued: Queued,
    pub(crate) memory: Mutex<HashMap<Key, Memory>>,
    pub(crate) random: RandomState,
}

/// The uid of an object, and its generation.
type Generation = (String, Option<i64>);

/// What is remembered of an object between reconciles.
#[derive(Default)]
pub(crate) struct Memory {
    failures: u32,
    status: StatusHistory,
    /// Events that have not been recorded yet.
    notes: Vec<Note>,
    /// What `cleanup` failed with last.
    cleanup: Option<Problem>,
    /// What a generation of an object asks for.
    built: Option<(Generation, Arc<Vec<Wanted>>)>,
}

impl<R: Reconciler> Shared<R> {
    pub(crate) fn memory(&self) -> MutexGuard<'_, HashMap<Key, Memory>> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remembered<T>(&self, key: &Key, change: impl FnOnce(&mut Memory) -> T) -> T {
        change(self.memory().entry(key.clone()).or_default())
    }

    pub(crate) fn forget(&self, key: &Key) {
        self.memory().remove(key);
    }

    /// Forgets every object of a namespace (or of all) that no longer exists, and what was built for the others: a
    /// generation may stand for another spec after etcd was restored from a backup.
    pub(crate) fn forget_all_but(&self, namespace: Option<&str>, exists: impl Fn(&Key) -> bool) {
        let elsewhere = |key: &Key| namespace.is_some_and(|namespace| key.namespace != namespace);
        self.memory().retain(|key, memory| {
            if elsewhere(key) {
                return true;
            }
            memory.built = None;
            exists(key)
        });
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

    fn owns(&self) -> &Owns {
        &self.info.owns
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
    pub(crate) caches: Caches<R::Object>,
}

/// What came of a plan.
#[derive(Default)]
struct Carried {
    done: Vec<(Planned, Done)>,
    /// The children, as they are applied.
    bodies: Vec<Body>,
    problem: Option<Problem>,
    /// What the reconcile fails with once the problem is reported.
    error: Option<Error>,
}

impl Carried {
    fn failed(problem: Problem) -> Self {
        Self { problem: Some(problem), ..Self::default() }
    }
}

/// What a reconcile knows of its object.
struct Input<O> {
    key: Key,
    object: Arc<O>,
    observed: Observed,
}

impl<R: Reconciler> Scope<R> {
    fn read(&self, stored: &Arc<R::Object>) -> Input<R::Object> {
        let object = self.caches.newest(stored);
        Input { key: Key::of(object.meta()), observed: self.caches.observe(&*object), object }
    }

    /// Forgets an object that was deleted during its reconcile; the watch has reported the deletion already.
    fn forget_if_deleted(&self, key: &Key) {
        if !self.caches.exists(key) {
            self.shared.forget(key);
            self.caches.forget(key);
        }
    }

    /// Reconciles one object.
    pub(crate) async fn reconcile(&self, stored: &Arc<R::Object>) -> Result<Action, Error> {
        let shared = &self.shared;
        let key = Key::of(stored.meta());
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
                shared.remembered(&key, |memory| memory.failures = 0);
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
        self.forget_if_deleted(&key);
        result
    }

    async fn run_pipeline(&self, stored: &Arc<R::Object>) -> Result<Action, Error> {
        let mut input = self.read(stored);
        if input.object.meta().deletion_timestamp.is_some() {
            return self.delete(&input).await;
        }
        if let Some(finalizer) = self.shared.finalizer().filter(|finalizer| !finalizer.is_set(&*input.object))
        {
            match finalizer.add(&*input.object, &self.caches).await? {
                Some(object) => input.object = object,
                None => return Ok(Action::await_change()),
            }
        }

        let carried = match input.observed.malformed.clone() {
            Some(error) => Carried::failed(Problem::invalid(format!("spec: {error}"))),
            None => match self.shared.reconciler.prepare(&input.object, &self.shared.context).await {
                Err(error) => {
                    let failed = Carried::failed(Problem::external("ExternalFailed", &error));
                    let source = Box::new(error);
                    Carried { error: Some(Error::External { step: "prepare", source }), ..failed }
                }
                Ok(external) => {
                    input.observed.external = external;
                    self.carry_out(&input).await?
                }
            },
        };
        let Carried { done, bodies, problem, error } = carried;
        let action = self.report(&input, &done, problem, stored).await?;
        match error {
            Some(error) => Err(error),
            None if self.asks_for_more(&input, &done, &bodies, stored)? => {
                Ok(Action::requeue(Duration::ZERO))
            }
            None => Ok(action),
        }
    }

    /// Returns the children that an object should have, as they are applied.
    fn build(&self, object: &R::Object, observed: &Observed) -> Result<Result<Vec<Body>, Invalid>, Error> {
        let shared = &self.shared;
        match shared.reconciler.desired(object, observed) {
            Ok(children) => {
                observed.check_views()?;
                children.complete(object, shared.owns(), &shared.context.identity).map(Ok)
            }
            Err(invalid) => observed.check_views().map(|()| Err(invalid)),
        }
    }

    /// Whether what was just written has the object ask for other children: the watch will report it as known.
    fn asks_for_more(
        &self,
        input: &Input<R::Object>,
        done: &[(Planned, Done)],
        bodies: &[Body],
        stored: &Arc<R::Object>,
    ) -> Result<bool, Error> {
        let wrote =
            done.iter().any(|(_, done)| matches!(done, Done::Created | Done::Updated | Done::Deleted));
        if !wrote || self.shared.by_generation {
            return Ok(false);
        }
        let mut seen = self.read(stored);
        seen.observed.external = input.observed.external.clone();
        Ok(self.build(&seen.object, &seen.observed)?.is_ok_and(|now| now != bodies))
    }

    /// Writes what differs and, at the same time, the initial status of a new object.
    async fn carry_out(&self, input: &Input<R::Object>) -> Result<Carried, Error> {
        let shared = &self.shared;
        let uid = input.object.meta().uid.as_deref().unwrap_or_default();
        let build = || self.build(&input.object, &input.observed);
        // What one generation asks for is built once, unless something has to be written.
        let generation = (uid.to_owned(), input.object.meta().generation);
        let known = shared.remembered(&input.key, |memory| {
            memory.built.as_ref().filter(|(of, _)| *of == generation).map(|(_, wanted)| Arc::clone(wanted))
        });
        let (wanted, bodies) = match known {
            Some(wanted) => (wanted, None),
            None => match build()? {
                Err(invalid) => return Ok(Carried::failed(Problem::invalid(invalid.message()))),
                Ok(bodies) => {
                    let wanted = Arc::new(wanted(&bodies, &shared.outlines));
                    if shared.by_generation {
                        let remembered = Some((generation, Arc::clone(&wanted)));
                        shared.remembered(&input.key, |memory| memory.built = remembered);
                    }
                    (wanted, Some(bodies))
                }
            },
        };
        let find = |kind: usize, key: &Key| self.caches.children[kind].get(key);
        let plan = plan(&wanted, &input.observed, shared.owns(), find, uid);
        if plan.is_empty() {
            return Ok(Carried::default());
        }
        let bodies = match bodies {
            Some(bodies) => bodies,
            None => build()?.unwrap_or_default(),
        };
        let initial = async {
            let initial = shared.reconciler.initial(&input.object, &input.observed);
            if let Some(mut initial) = initial.filter(|_| !shared.is_busy()) {
                shared.reconciler.complete(&input.object, &mut initial);
                shared.status_writer().write(&input.key, &initial, &self.caches).await?;
                shared.remembered(&input.key, |memory| memory.status.written = Some(Instant::now()));
            }
            Ok::<_, Error>(())
        };
        let applier = Applier {
            client: &shared.context.client,
            manager: shared.manager(),
            owner: &input.key,
            owner_kind: &shared.info.resource.kind,
            uid,
            owns: shared.owns(),
            caches: &self.caches.children,
        };
        let (done, written) = join(applier.carry_out(&plan, &bodies), initial).await;
        written?;
        let problem = done.iter().find_map(|done| match done {
            Done::Failed(problem) => Some(problem.clone()),
            _ => None,
        });
        let retried = problem.as_ref().filter(|problem: &&Problem| problem.retry);
        let error = retried.map(|problem| Error::Apply(problem.message.clone()));
        Ok(Carried { done: plan.into_iter().zip(done).collect(), bodies, problem, error })
    }

    /// Writes status and events, and returns when to reconcile again.
    async fn report(
        &self,
        input: &Input<R::Object>,
        done: &[(Planned, Done)],
        problem: Option<Problem>,
        stored: &Arc<R::Object>,
    ) -> Result<Action, Error> {
        let (shared, reconciler) = (&self.shared, &self.shared.reconciler);
        // Read again: the responses to the writes are part of the status.
        let mut seen = self.read(stored);
        seen.observed.problem = problem;
        seen.observed.external = input.observed.external.clone();
        let mut after = reconciler.status(&seen.object, &seen.observed);
        reconciler.complete(&seen.object, &mut after);
        let mut new = Vec::new();
        let generation = input.object.meta().generation;
        let reported = |status: &StatusOf<R::Object>| {
            let mut own = R::CONDITIONS.iter().filter_map(|kind| find(status.conditions(), kind));
            own.any(|condition| condition.observed_generation == generation)
        };
        let changes = Changes {
            owns: shared.owns(),
            done,
            before: &input.observed,
            new_spec: !input.object.status().is_some_and(reported),
        };
        if changes.iter().next().is_some() {
            new = reconciler.events(&input.object, &changes);
        }
        seen.observed.check_views()?;
        input.observed.check_views()?;
        new.extend(newly_degraded(input.object.status(), &after));
        let busy = shared.is_busy();
        let (due, notes) = shared.remembered(&input.key, |memory| {
            memory.notes.extend(new);
            let due = due(seen.object.status(), &after, &mut memory.status, busy, Instant::now());
            let later = busy && matches!(due, Due::After(_));
            (due, if later { Vec::new() } else { std::mem::take(&mut memory.notes) })
        });
        for note in notes {
            shared.context.recorder.record(&*seen.object, note);
        }
        let mut wait = match due {
            Due::Never => None,
            Due::After(wait) => Some(wait),
            Due::Now => {
                shared.status_writer().write(&input.key, &after, &self.caches).await?;
                None
            }
        };
        let again = [seen.observed.external.again, reconciler.requeue(&seen.object, &seen.observed)];
        for again in again.into_iter().flatten() {
            wait = Some(wait.map_or(again, |wait| wait.min(again)));
        }
        let newest = self.caches.newest(stored);
        let outdated = newest.meta().generation != input.object.meta().generation
            || newest.meta().deletion_timestamp != input.object.meta().deletion_timestamp;
        // What blocked a child may have disappeared before this reconcile waited for it.
        let unblocked = done.iter().any(|(planned, done)| {
            matches!(done, Done::Failed(problem) if !problem.retry)
                && self.caches.children[planned.kind].get(&planned.key).is_none()
        });
        // The responses contained a change whose watch event will look like an echo.
        if outdated || unblocked {
            return Ok(Action::requeue(Duration::ZERO));
        }
        Ok(wait.map_or_else(Action::await_change, Action::requeue))
    }

    /// Reports the deletion, cleans up, then removes the finalizer.
    async fn delete(&self, input: &Input<R::Object>) -> Result<Action, Error> {
        let (shared, reconciler) = (&self.shared, &self.shared.reconciler);
        let Some(finalizer) = shared.finalizer().filter(|finalizer| finalizer.is_set(&*input.object)) else {
            return Ok(Action::await_change());
        };
        let known = shared.remembered(&input.key, |memory| memory.cleanup.clone());
        if !self.report_deletion(input, known.clone()).await? {
            return Ok(Action::await_change());
        }
        if let Err(error) = reconciler.cleanup(&input.object, &shared.context).await {
            let problem = Problem::external("CleanupFailed", &error);
            if known.as_ref() != Some(&problem) {
                let note = Note::warning(&problem.reason, "Delete", &problem.message);
                shared.context.recorder.record(&*input.object, note);
                shared.remembered(&input.key, |memory| memory.cleanup = Some(problem.clone()));
                self.report_deletion(input, Some(problem)).await?;
            }
            return Err(Error::External { step: "cleanup", source: Box::new(error) });
        }
        let newest = self.caches.newest(&input.object);
        finalizer.remove(&*newest, &self.caches).await?;
        Ok(Action::await_change())
    }

    /// Writes the status of a deletion, and what `cleanup` failed with; returns whether the object still exists.
    async fn report_deletion(
        &self,
        input: &Input<R::Object>,
        problem: Option<Problem>,
    ) -> Result<bool, Error> {
        let shared = &self.shared;
        let mut seen = self.read(&input.object);
        let new = problem.is_none();
        seen.observed.problem = problem;
        let status = shared.reconciler.finalizing(&seen.object, &seen.observed);
        seen.observed.check_views()?;
        let Some(mut status) = status else { return Ok(true) };
        shared.reconciler.complete(&seen.object, &mut status);
        if seen.object.status() == Some(&status) {
            return Ok(true);
        }
        if new {
            let note = finalizing(&shared.info.resource.kind, &input.key.name);
            shared.context.recorder.record(&*seen.object, note);
        }
        match shared.status_writer().write(&input.key, &status, &self.caches).await {
            Ok(written) => Ok(written.is_some()),
            // The status is for people; the deletion does not depend on it.
            Err(error) => {
                tracing::warn!(%error, "failed to report the deletion; cleaning up anyway");
                Ok(true)
            }
        }
    }

    /// Returns when to retry after a failure.
    pub(crate) fn after_failure(&self, object: &R::Object, error: &Error) -> Action {
        let key = Key::of(object.meta());
        let failures = self.shared.remembered(&key, |memory| {
            memory.failures = memory.failures.saturating_add(1);
            memory.failures
        });
        let wait = backoff(failures, self.shared.random());
        self.forget_if_deleted(&key);
        // The watch is about to report the write that caused the conflict.
        Action::requeue(if error.is_conflict() { wait.min(Duration::from_millis(250)) } else { wait })
    }
}

/// Returns the event of a deletion.
fn finalizing(kind: &str, name: &str) -> Note {
    Note::normal("Finalizing", "Delete", format!("{kind} {name} is being deleted together with what it owns"))
}

/// Returns a warning if the condition `Degraded` became true, or true for another reason.
fn newly_degraded<S: Conditioned>(before: Option<&S>, after: &S) -> Option<Note> {
    let degraded = find(after.conditions(), DEGRADED).filter(|condition| condition.status == "True")?;
    let known = before.and_then(|before| find(before.conditions(), DEGRADED)).is_some_and(|before| {
        before.status == "True" && before.reason == degraded.reason && before.message == degraded.message
    });
    (!known).then(|| Note::warning(&degraded.reason, "Reconcile", &degraded.message))
}
