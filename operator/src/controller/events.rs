//! Events on the Memcached. Which ones to record is decided by pure functions; the recorder aggregates and sends them.

use super::apply::{Done, Outcome};
use super::cache::Key;
use super::dereference::Input;
use super::status::{DEGRADED, condition};
use crate::crd::{Memcached, MemcachedStatus};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::{Event, EventSeries};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, Resource};
use serde_json::json;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// An event to record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Note {
    /// Its type is `Warning`, not `Normal`.
    pub(crate) warning: bool,
    pub(crate) reason: String,
    pub(crate) action: &'static str,
    pub(crate) message: String,
}

impl Note {
    fn normal(reason: &str, action: &'static str, message: String) -> Self {
        Self { warning: false, reason: reason.to_owned(), action, message }
    }
}

/// Returns the events of a reconcile: what it did, and what is newly degraded.
pub(crate) fn notes(input: &Input, outcome: Option<&Outcome>, after: &MemcachedStatus) -> Vec<Note> {
    let name = &input.key.name;
    let mut notes = Vec::new();
    match (
        outcome.map_or(&Done::Nothing, |outcome| &outcome.deployment),
        input.deployment.as_ref().map(|seen| &seen.facts),
    ) {
        (Done::Created, _) => {
            let message = format!("Created Deployment {name} with {} servers", input.memcached.spec.size);
            notes.push(Note::normal("Created", "Create", message));
        }
        (Done::Updated, Some(before)) if before.wanted != input.memcached.spec.size => {
            let message = format!("Scaled from {} to {} servers", before.wanted, input.memcached.spec.size);
            notes.push(Note::normal("Scaled", "Scale", message));
        }
        (Done::Updated, _) => {
            notes.push(Note::normal(
                "Updated",
                "Update",
                format!("Reverted external changes to Deployment {name}"),
            ));
        }
        _ => {}
    }
    let before = input.memcached.status.as_ref().and_then(|status| condition(status, DEGRADED));
    if let Some(degraded) = condition(after, DEGRADED).filter(|condition| condition.status == "True") {
        let known = before.is_some_and(|before| {
            before.status == "True" && before.reason == degraded.reason && before.message == degraded.message
        });
        if !known {
            notes.push(Note {
                warning: true,
                reason: degraded.reason.clone(),
                action: "Reconcile",
                message: degraded.message.clone(),
            });
        }
    }
    notes
}

/// Returns the event of a deletion.
pub(crate) fn finalizing(memcached: &Memcached) -> Note {
    let name = memcached.metadata.name.as_deref().unwrap_or_default();
    let message = format!("Memcached {name} is being deleted together with its servers");
    Note::normal("Finalizing", "Delete", message)
}

/// Repetitions within this time are counted on one event.
const SERIES_WINDOW: Duration = Duration::from_mins(10);
/// The shortest time between two updates of one event's count.
const MIN_UPDATE_INTERVAL: Duration = Duration::from_secs(10);
/// Events that are remembered to count repetitions.
const MAX_REMEMBERED: usize = 512;
/// The longest note in characters, of at most four bytes each: the API rejects notes of 1 kB and more.
const MAX_NOTE_CHARS: usize = 250;
/// Events that wait to be sent; further ones are dropped, as client-go's recorder does it.
const MAX_PENDING: usize = 10_000;

struct Open {
    name: String,
    count: i32,
    sent: Instant,
}

/// Events sent at the same time: they must not take the place of the work that they report.
const SENDERS: usize = 1;

/// Sends notes as `events.k8s.io/v1` events, in the background; a repetition raises the count of the first event.
pub(crate) struct Recorder {
    client: Client,
    instance: String,
    open: Arc<Mutex<HashMap<(String, Note), Open>>>,
    senders: Arc<Semaphore>,
    sending: Mutex<JoinSet<()>>,
}

enum Sending {
    New(String),
    Repeat(String, i32),
}

impl Recorder {
    /// `instance` is the name of this manager's pod.
    pub(crate) fn new(client: Client, instance: String) -> Self {
        Self {
            client,
            instance,
            open: Arc::default(),
            senders: Arc::new(Semaphore::new(SENDERS)),
            sending: Mutex::default(),
        }
    }

    /// Sends a note in the background. A failure is logged, and has no other consequence.
    pub(crate) fn record(&self, memcached: &Arc<Memcached>, note: Note) {
        let (Some(uid), Some(namespace)) = (&memcached.metadata.uid, &memcached.metadata.namespace) else {
            return;
        };
        let Some(sending) = self.count(uid, memcached, &note) else { return };
        let api: Api<Event> = Api::namespaced(self.client.clone(), namespace);
        let (senders, open, instance) =
            (Arc::clone(&self.senders), Arc::clone(&self.open), self.instance.clone());
        let (memcached, key) = (Arc::clone(memcached), (uid.clone(), note));
        let mut tasks = self.sending.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        if tasks.len() >= MAX_PENDING {
            tracing::warn!(reason = key.1.reason, "too many pending events; dropping one");
            self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
            return;
        }
        tasks.spawn(async move {
            // The semaphore is never closed.
            let _permit = senders.acquire().await;
            let sent = match sending {
                Sending::New(name) => {
                    let event = event(&memcached, &key.1, name, &instance);
                    api.create(&PostParams::default(), &event).await.map(drop)
                }
                Sending::Repeat(name, count) => {
                    let series = EventSeries { count, last_observed_time: MicroTime(Timestamp::now()) };
                    let patch = Patch::Merge(json!({ "series": series }));
                    api.patch_metadata(&name, &PatchParams::default(), &patch).await.map(drop)
                }
            };
            if let Err(error) = sent {
                let memcached = Key::of(&memcached.metadata);
                tracing::warn!(%error, %memcached, reason = key.1.reason, "failed to send an event");
                open.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
            }
        });
    }

    /// Returns how many events are remembered.
    #[cfg(test)]
    pub(crate) fn remembered(&self) -> usize {
        self.open.lock().unwrap().len()
    }

    /// Waits until all recorded events are sent.
    pub(crate) async fn flush(&self) {
        let tasks = std::mem::take(&mut *self.sending.lock().unwrap_or_else(PoisonError::into_inner));
        tasks.join_all().await;
    }

    /// Counts a note; returns what has to be sent now, if anything.
    fn count(&self, uid: &str, memcached: &Memcached, note: &Note) -> Option<Sending> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= MAX_REMEMBERED {
            open.retain(|_, event| event.sent.elapsed() < MIN_UPDATE_INTERVAL);
        }
        let key = (uid.to_owned(), note.clone());
        if let Some(event) = open.get_mut(&key).filter(|event| event.sent.elapsed() < SERIES_WINDOW) {
            event.count += 1;
            if event.sent.elapsed() < MIN_UPDATE_INTERVAL {
                return None;
            }
            event.sent = Instant::now();
            return Some(Sending::Repeat(event.name.clone(), event.count));
        }
        let prefix: String =
            memcached.metadata.name.as_deref().unwrap_or_default().chars().take(200).collect();
        let name = format!("{prefix}.{:x}", Timestamp::now().as_nanosecond());
        if open.len() < MAX_REMEMBERED {
            open.insert(key, Open { name: name.clone(), count: 1, sent: Instant::now() });
        }
        Some(Sending::New(name))
    }
}

fn event(memcached: &Memcached, note: &Note, name: String, instance: &str) -> Event {
    let ObjectReference { api_version, kind, name: regarded, namespace, uid, resource_version, .. } =
        memcached.object_ref(&());
    Event {
        metadata: ObjectMeta { name: Some(name), namespace: namespace.clone(), ..ObjectMeta::default() },
        event_time: Some(MicroTime(Timestamp::now())),
        type_: Some(if note.warning { "Warning" } else { "Normal" }.to_owned()),
        reason: Some(note.reason.clone()),
        action: Some(note.action.to_owned()),
        note: Some(note.message.chars().take(MAX_NOTE_CHARS).collect()),
        regarding: Some(ObjectReference {
            api_version,
            kind,
            name: regarded,
            namespace,
            uid,
            resource_version,
            ..ObjectReference::default()
        }),
        reporting_controller: Some("cache.example.com/memcached-operator".to_owned()),
        reporting_instance: Some(instance.to_owned()),
        ..Event::default()
    }
}
