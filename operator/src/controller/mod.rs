//! The controller: brings the cluster to the state that the Memcacheds describe.
//!
//! A reconcile is a pipeline with one file per step: [`dereference`] (what was observed) → [`validate`] → [`build`] →
//! [`plan`] (what differs) → [`apply`] → [`update_status`]. Everything but the last two is pure. Reads come from the
//! watches only; a reconcile that finds everything as desired makes no request at all.

mod apply;
mod build;
mod cache;
mod dereference;
mod error;
mod events;
mod facts;
mod finalize;
mod live;
mod plan;
mod pods;
mod queued;
mod run;
#[cfg(test)]
mod scenarios;
mod shape;
mod status;
mod update_status;
mod validate;

pub use build::{OPERAND_USER, Owned};
pub use run::run;

use crate::backoff::backoff;
use crate::crd::Memcached;
use crate::metrics::{Metrics, ReconcileResult};
use apply::{Done, Outcome};
use build::Digests;
use cache::Key;
use dereference::{Input, Observed, dereference};
use error::{Error, Problem};
use events::Note;
use futures::future::join;
use jiff::Timestamp;
use kube::Client;
use kube::runtime::controller::Action;
use plan::Plan;
use queued::Queued;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tracing::Instrument;
use update_status::{Due, StatusHistory, due, update_status};
use validate::{Invalid, Wanted, validate};

/// Settings of the controller.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Image of the servers unless a Memcached sets one.
    pub operand_image: String,
    /// Kinds that a Memcached owns.
    pub owned: Owned,
    /// User ID of the servers; `None` if the cluster assigns one.
    pub run_as_user: Option<i64>,
    /// How many Memcacheds are reconciled at the same time, over all namespaces.
    pub max_concurrent_reconciles: u16,
    /// Time after which everything is listed and reconciled again, 10 % more or less.
    pub sync_period: Duration,
    /// Namespaces to watch; empty for all.
    pub namespaces: Vec<String>,
    /// Name of this manager's pod, for events.
    pub instance: String,
}

/// What the controllers of all namespaces share.
pub struct Shared {
    client: Client,
    settings: Settings,
    outlines: build::Outlines,
    recorder: events::Recorder,
    permits: Semaphore,
    queued: Queued,
    memory: Mutex<HashMap<Key, Memory>>,
    random: RandomState,
    metrics: Arc<Metrics>,
    /// What the first namespace's watches cache, for tests.
    #[cfg(test)]
    observed: std::sync::OnceLock<Arc<Context>>,
}

impl Shared {
    #[cfg(test)]
    fn observed(&self) -> &Observed {
        &self.observed.get().unwrap().observed
    }

    /// Prepares a controller; makes no request yet.
    ///
    /// # Errors
    /// When the owned kinds cannot be serialized, which would be a defect of this program.
    pub fn new(client: Client, settings: Settings, metrics: Arc<Metrics>) -> Result<Self, serde_json::Error> {
        Ok(Self {
            outlines: build::Outlines::new()?,
            recorder: events::Recorder::new(client.clone(), settings.instance.clone()),
            permits: Semaphore::new(usize::from(settings.max_concurrent_reconciles.max(1))),
            queued: Queued::default(),
            memory: Mutex::default(),
            random: RandomState::new(),
            client,
            settings,
            metrics,
            #[cfg(test)]
            observed: std::sync::OnceLock::new(),
        })
    }

    fn memory(&self) -> MutexGuard<'_, HashMap<Key, Memory>> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remembered<T>(&self, key: &Key, change: impl FnOnce(&mut Memory) -> T) -> T {
        change(self.memory().entry(key.clone()).or_default())
    }

    fn forget(&self, key: &Key) {
        self.memory().remove(key);
    }

    /// Forgets every Memcached of a namespace (or of all) that no longer exists, and what was built for the others: a
    /// generation may stand for another spec after etcd was restored from a backup.
    fn forget_all_but(&self, namespace: Option<&str>, exists: impl Fn(&Key) -> bool) {
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

    /// Removes a Memcached that no longer exists from the queue.
    fn dequeue(&self, key: &Key) {
        self.queued.remove(key);
        self.metrics.dequeued(self.queued.depth());
    }

    /// Whether Memcacheds are queued: then their servers are created before the status of others is written.
    fn is_busy(&self) -> bool {
        self.queued.depth() > 0
    }

    fn random(&self) -> u64 {
        self.random.hash_one(Timestamp::now().as_nanosecond())
    }
}

/// Checks what the schema cannot; the error says what to change. The controller checks the same later.
pub(crate) fn check(memcached: &Memcached, operand_image: &str) -> Result<(), String> {
    validate(memcached, operand_image).map(drop).map_err(|invalid| invalid.to_string())
}

/// What is remembered of a Memcached between reconciles.
#[derive(Default)]
struct Memory {
    failures: u32,
    status: StatusHistory,
    /// Events that have not been recorded yet.
    notes: Vec<Note>,
    /// The digests of what a generation of an object asks for.
    built: Option<((String, Option<i64>), Digests)>,
}

/// The controller of one namespace (or of all).
pub(crate) struct Context {
    shared: Arc<Shared>,
    observed: Observed,
}

impl Context {
    /// Forgets a Memcached that was deleted during its reconcile; the watch has reported the deletion already.
    fn forget_if_deleted(&self, key: &Key) {
        if !self.observed.exists(key) {
            self.shared.forget(key);
            self.observed.forget(key);
        }
    }
}

/// Reconciles one Memcached.
async fn reconcile(stored: Arc<Memcached>, context: Arc<Context>) -> Result<Action, Error> {
    let shared = &context.shared;
    let key = Key::of(&stored.metadata);
    // The semaphore is never closed.
    let _permit = shared.permits.acquire().await;
    let trace = format!("{:016x}", shared.random());
    let started = Instant::now();
    let waited = shared.queued.remove(&key);
    shared.metrics.started(waited, shared.queued.depth());
    let span = tracing::info_span!("reconcile", memcached = %key, trace_id = trace);
    let result = run_pipeline(&stored, &context).instrument(span.clone()).await;
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
    context.forget_if_deleted(&key);
    result
}

async fn run_pipeline(stored: &Arc<Memcached>, context: &Context) -> Result<Action, Error> {
    let (shared, observed) = (&context.shared, &context.observed);
    let mut input = dereference(stored, observed);
    if input.memcached.metadata.deletion_timestamp.is_some() {
        return delete(&input, context).await;
    }
    if !finalize::is_set(&input.memcached) {
        match finalize::add(&shared.client, &input.memcached, observed).await? {
            Some(memcached) => input.memcached = memcached,
            None => return Ok(Action::await_change()),
        }
    }

    let wanted = match &input.malformed {
        Some(error) => Err(Invalid::Malformed(error.clone())),
        None => validate(&input.memcached, &shared.settings.operand_image),
    };
    let (outcome, problem) = match wanted {
        Err(invalid) => {
            let message = invalid.to_string();
            (None, Some(Problem { reason: "InvalidSpec".into(), message, retry: false }))
        }
        Ok(wanted) => {
            let outcome = carry_out(&wanted, &input, context).await?;
            let problem = outcome.problem().cloned();
            (Some(outcome), problem)
        }
    };

    report(&input, outcome.as_ref(), problem.as_ref(), stored, context).await.and_then(|action| match problem
        .filter(|problem| problem.retry)
    {
        Some(problem) => Err(Error::Apply(problem.message)),
        None => Ok(action),
    })
}

/// Writes what differs and, at the same time, the initial status of a new Memcached.
async fn carry_out(wanted: &Wanted, input: &Input, context: &Context) -> Result<Outcome, Error> {
    let (shared, observed) = (&context.shared, &context.observed);
    let Settings { owned, run_as_user, .. } = shared.settings;
    let build = || build::build(wanted, owned, run_as_user, &shared.outlines);
    // What one generation asks for is built once, unless something has to be written.
    let generation = (wanted.uid.clone(), input.memcached.metadata.generation);
    let known = shared.remembered(&input.key, |memory| {
        memory.built.as_ref().filter(|(of, _)| *of == generation).map(|(_, digests)| *digests)
    });
    let (digests, objects) = if let Some(digests) = known {
        (digests, None)
    } else {
        let objects = build()?;
        let digests = objects.digests();
        shared.remembered(&input.key, |memory| memory.built = Some((generation, digests)));
        (digests, Some(objects))
    };
    let plan = Plan::new(digests, input);
    if plan.is_empty() {
        return Ok(Outcome {
            deployment: Done::Nothing,
            service: Done::Nothing,
            disruption_budget: Done::Nothing,
        });
    }
    let objects = match objects {
        Some(objects) => objects,
        None => build()?,
    };
    let uid = input.memcached.metadata.uid.as_deref().unwrap_or_default();
    let initial = async {
        let initial = status::initial_status(&input.memcached, Timestamp::now());
        if let Some(initial) = initial.filter(|_| !shared.is_busy()) {
            update_status(&shared.client, &input.key, &initial, observed).await?;
            shared.remembered(&input.key, |memory| memory.status.written = Some(Instant::now()));
        }
        Ok(())
    };
    let (outcome, written) =
        join(apply::apply(&shared.client, &input.key, uid, plan, &objects, observed), initial).await;
    written.map(|()| outcome)
}

/// Writes status and events, and returns when to reconcile again.
async fn report(
    input: &Input,
    outcome: Option<&Outcome>,
    problem: Option<&Problem>,
    stored: &Arc<Memcached>,
    context: &Context,
) -> Result<Action, Error> {
    let (shared, observed) = (&context.shared, &context.observed);
    // Read again: the responses to the writes are part of the status.
    let seen = dereference(stored, observed);
    let after = status::next_status(&seen, problem, Timestamp::now());
    let (new, busy) = (events::notes(input, outcome, &after), shared.is_busy());
    let (due, notes) = shared.remembered(&input.key, |memory| {
        memory.notes.extend(new);
        let due = due(seen.memcached.status.as_ref(), &after, &mut memory.status, busy, Instant::now());
        let later = busy && matches!(due, Due::After(_));
        (due, if later { Vec::new() } else { std::mem::take(&mut memory.notes) })
    });
    for note in notes {
        shared.recorder.record(&seen.memcached, note);
    }
    let action = match due {
        Due::Never => Action::await_change(),
        Due::After(wait) => Action::requeue(wait),
        Due::Now => {
            update_status(&shared.client, &input.key, &after, observed).await?;
            Action::await_change()
        }
    };
    let newest = dereference(stored, observed).memcached;
    let outdated = newest.metadata.generation != input.memcached.metadata.generation
        || newest.metadata.deletion_timestamp != input.memcached.metadata.deletion_timestamp;
    // The responses contained a change whose watch event will look like an echo.
    Ok(if outdated { Action::requeue(Duration::ZERO) } else { action })
}

/// Reports the deletion, then removes the finalizer.
async fn delete(input: &Input, context: &Context) -> Result<Action, Error> {
    let (shared, observed) = (&context.shared, &context.observed);
    if !finalize::is_set(&input.memcached) {
        return Ok(Action::await_change());
    }
    let status = status::finalizing(&input.memcached, Timestamp::now());
    if input.memcached.status.as_ref() != Some(&status) {
        shared.recorder.record(&input.memcached, events::finalizing(&input.memcached));
        match update_status(&shared.client, &input.key, &status, observed).await {
            Ok(Some(_)) => {}
            Ok(None) => return Ok(Action::await_change()),
            // The status is for people; the deletion does not depend on it.
            Err(error) => {
                tracing::warn!(%error, "failed to report the deletion; removing the finalizer anyway");
            }
        }
    }
    let newest = dereference(&input.memcached, observed).memcached;
    finalize::remove(&shared.client, &newest, observed).await?;
    Ok(Action::await_change())
}

/// Returns when to retry after a failure.
fn after_failure(memcached: &Memcached, error: &Error, context: &Context) -> Action {
    let key = Key::of(&memcached.metadata);
    let failures = context.shared.remembered(&key, |memory| {
        memory.failures = memory.failures.saturating_add(1);
        memory.failures
    });
    let wait = backoff(failures, context.shared.random());
    context.forget_if_deleted(&key);
    // The watch is about to report the write that caused the conflict.
    Action::requeue(if error.is_conflict() { wait.min(Duration::from_millis(250)) } else { wait })
}
