//! The controller: keeps the cluster as the Memcacheds say.
//!
//! One reconcile is a pipeline, one file a step: [`dereference`] (what was seen) → [`validate`] → [`build`] → [`plan`]
//! (what differs) → [`apply`] → [`update_status`]. Everything but the last two is pure. Reads come from the watches
//! only; a reconcile that finds everything in place makes no request at all.

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
mod run;
#[cfg(test)]
mod scenarios;
mod shape;
mod status;
mod update_status;
mod validate;
mod waiting;

pub use build::Owned;
pub use run::run;

use crate::crd::Memcached;
use crate::metrics::{Metrics, ReconcileResult};
use apply::{Done, Outcome};
use build::Digests;
use cache::Key;
use dereference::{Input, Observed, dereference};
use error::{Error, Problem, backoff};
use events::Note;
use futures::future::join;
use jiff::Timestamp;
use kube::Client;
use kube::runtime::controller::Action;
use plan::Plan;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tracing::Instrument;
use update_status::{Due, Told, due, update_status};
use validate::{Wanted, validate};
use waiting::Waiting;

/// What the controller's user chooses.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Image of the servers where a Memcached names none.
    pub operand_image: String,
    /// Which kinds a Memcached owns.
    pub owned: Owned,
    /// How many Memcacheds are worked on at the same time, over all namespaces.
    pub max_concurrent_reconciles: u16,
    /// Namespaces to watch; empty means all.
    pub namespaces: Vec<String>,
    /// Name of this manager's pod, for events.
    pub instance: String,
}

/// What all namespaces' controllers share.
pub struct Shared {
    client: Client,
    settings: Settings,
    outlines: build::Outlines,
    recorder: events::Recorder,
    permits: Semaphore,
    waiting: Waiting,
    memory: Mutex<HashMap<Key, Memory>>,
    random: RandomState,
    metrics: Arc<Metrics>,
}

impl Shared {
    /// Prepares a controller; nothing is asked of the API server yet.
    ///
    /// # Errors
    /// When the owned kinds cannot be serialised, which would be a defect of this program.
    pub fn new(client: Client, settings: Settings, metrics: Arc<Metrics>) -> Result<Self, serde_json::Error> {
        Ok(Self {
            outlines: build::Outlines::new()?,
            recorder: events::Recorder::new(client.clone(), settings.instance.clone()),
            permits: Semaphore::new(usize::from(settings.max_concurrent_reconciles.max(1))),
            waiting: Waiting::default(),
            memory: Mutex::default(),
            random: RandomState::new(),
            client,
            settings,
            metrics,
        })
    }

    fn remembered<T>(&self, key: &Key, change: impl FnOnce(&mut Memory) -> T) -> T {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        change(memory.entry(key.clone()).or_default())
    }

    fn forget(&self, key: &Key) {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    /// A Memcached that is gone is not waited for.
    fn gone(&self, key: &Key) {
        self.waiting.remove(key);
        self.metrics.forgotten(self.waiting.depth());
    }

    /// Whether Memcacheds wait for their turn: then their servers go before what is told of others.
    fn is_busy(&self) -> bool {
        self.waiting.depth() > 0
    }

    fn random(&self) -> u64 {
        self.random.hash_one(Timestamp::now().as_nanosecond())
    }
}

/// Checks what the schema cannot; the error says what to change. The controller refuses the same later.
pub(crate) fn check(memcached: &Memcached, operand_image: &str) -> Result<(), String> {
    validate(memcached, operand_image).map(drop).map_err(|refusal| refusal.to_string())
}

/// What is remembered of a Memcached between reconciles.
#[derive(Default)]
struct Memory {
    failures: u32,
    told: Told,
    /// What is still to be told in events.
    notes: Vec<Note>,
    /// The digests of what a generation of an object asks for.
    built: Option<((String, Option<i64>), Digests)>,
}

/// One namespace's controller.
pub(crate) struct Context {
    shared: Arc<Shared>,
    observed: Observed,
}

/// Looks at one Memcached and does what has to be done.
async fn reconcile(stored: Arc<Memcached>, context: Arc<Context>) -> Result<Action, Error> {
    let shared = &context.shared;
    let key = Key::of(&stored.metadata);
    // The semaphore is never closed; were it, working on is right.
    let _permit = shared.permits.acquire().await;
    let trace = format!("{:016x}", shared.random());
    let started = Instant::now();
    let waited = shared.waiting.remove(&key);
    shared.metrics.started(waited, shared.waiting.depth());
    let span = tracing::info_span!("reconcile", memcached = %key, trace_id = trace);
    let result = work(&stored, &context).instrument(span.clone()).await;
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
            tracing::warn!(%error, "reconcile failed, will try again");
            ReconcileResult::Error
        }
    };
    shared.metrics.finished(ended, started.elapsed());
    result
}

async fn work(stored: &Arc<Memcached>, context: &Context) -> Result<Action, Error> {
    let (shared, observed) = (&context.shared, &context.observed);
    let mut input = dereference(stored, observed);
    if input.memcached.metadata.deletion_timestamp.is_some() {
        return delete(&input, context).await;
    }
    if !finalize::is_set(&input.memcached) {
        match finalize::add(&shared.client, &input.key, &input.memcached, &observed.written).await? {
            Some(answer) => input.memcached = answer,
            None => return Ok(Action::await_change()),
        }
    }

    let (outcome, problem) = match validate(&input.memcached, &shared.settings.operand_image) {
        Err(refusal) => {
            let problem =
                Problem { reason: "InvalidSpec".into(), message: refusal.to_string(), retry: false };
            (None, Some(problem))
        }
        Ok(wanted) => {
            let outcome = carry_out(&wanted, &input, context).await?;
            let problem = outcome.problem().cloned();
            (Some(outcome), problem)
        }
    };

    tell(&input, outcome.as_ref(), problem.as_ref(), stored, context).await.and_then(|action| {
        match problem.filter(|problem| problem.retry) {
            Some(problem) => Err(Error::Apply(problem.message)),
            None => Ok(action),
        }
    })
}

/// Writes what is not as it should be and, at the same time, the first status of a new Memcached.
async fn carry_out(wanted: &Wanted, input: &Input, context: &Context) -> Result<Outcome, Error> {
    let (shared, observed) = (&context.shared, &context.observed);
    let build = || build::build(wanted, shared.settings.owned, &shared.outlines);
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
    let greeting = async {
        match status::first(&input.memcached, Timestamp::now()).filter(|_| !shared.is_busy()) {
            Some(first) => {
                update_status(&shared.client, &input.key, &first, &observed.written).await?;
                shared.remembered(&input.key, |memory| memory.told.written = Some(Instant::now()));
                Ok(())
            }
            None => Ok(()),
        }
    };
    let (outcome, greeted) =
        join(apply::apply(&shared.client, &input.key, uid, plan, &objects, observed), greeting).await;
    greeted.map(|()| outcome)
}

/// Writes status and events, and says when to look again.
async fn tell(
    input: &Input,
    outcome: Option<&Outcome>,
    problem: Option<&Problem>,
    stored: &Arc<Memcached>,
    context: &Context,
) -> Result<Action, Error> {
    let (shared, observed) = (&context.shared, &context.observed);
    // Looked at again: the answers to what was just written are part of what is told.
    let seen = dereference(stored, observed);
    let after = status::next(&seen, problem, Timestamp::now());
    let (news, busy) = (events::notes(input, outcome, &after), shared.is_busy());
    let (due, notes) = shared.remembered(&input.key, |memory| {
        memory.notes.extend(news);
        let due = due(seen.memcached.status.as_ref(), &after, &mut memory.told, busy, Instant::now());
        let later = busy && matches!(due, Due::After(_));
        (due, if later { Vec::new() } else { std::mem::take(&mut memory.notes) })
    });
    for note in notes {
        shared.recorder.tell(&seen.memcached, note);
    }
    let action = match due {
        Due::Never => Action::await_change(),
        Due::After(wait) => Action::requeue(wait),
        Due::Now => {
            update_status(&shared.client, &input.key, &after, &observed.written).await?;
            Action::await_change()
        }
    };
    let newest = dereference(stored, observed).memcached;
    let outdated = newest.metadata.generation != input.memcached.metadata.generation
        || newest.metadata.deletion_timestamp != input.memcached.metadata.deletion_timestamp;
    // The answers carried a change whose watch event will look like an echo.
    Ok(if outdated { Action::requeue(Duration::ZERO) } else { action })
}

/// Tells that the Memcached goes, then lets it go.
async fn delete(input: &Input, context: &Context) -> Result<Action, Error> {
    let (shared, observed) = (&context.shared, &context.observed);
    if !finalize::is_set(&input.memcached) {
        return Ok(Action::await_change());
    }
    let status = status::finalizing(&input.memcached, Timestamp::now());
    if input.memcached.status.as_ref() != Some(&status) {
        shared.recorder.tell(&input.memcached, events::finalizing(&input.memcached));
        if update_status(&shared.client, &input.key, &status, &observed.written).await?.is_none() {
            return Ok(Action::await_change());
        }
    }
    let newest = dereference(&input.memcached, observed).memcached;
    finalize::remove(&shared.client, &input.key, &newest, &observed.written).await?;
    shared.forget(&input.key);
    Ok(Action::await_change())
}

/// When to try again after a failure.
fn after_failure(memcached: &Memcached, error: &Error, context: &Context) -> Action {
    let key = Key::of(&memcached.metadata);
    let failures = context.shared.remembered(&key, |memory| {
        memory.failures = memory.failures.saturating_add(1);
        memory.failures
    });
    let wait = backoff(failures, context.shared.random());
    // Somebody else's write is on its way to us already.
    Action::requeue(if error.is_conflict() { wait.min(Duration::from_millis(250)) } else { wait })
}
