//! Events on objects: the recorder aggregates repetitions and sends them in the background.

use crate::identity::Identity;
use crate::lock::lock;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::{Event as ApiEvent, EventSeries};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, Resource};
use serde_json::json;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::Instant;

/// An event to record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// Its type is `Warning`, not `Normal`.
    pub warning: bool,
    /// Why it is recorded, in `CamelCase`.
    pub reason: String,
    /// What the controller did, in `CamelCase`.
    pub action: String,
    /// The details; cut at 250 characters.
    pub message: String,
}

impl Event {
    /// Returns a normal event.
    #[must_use]
    pub fn normal(reason: &str, action: &str, message: impl Into<String>) -> Self {
        Self { warning: false, reason: reason.to_owned(), action: action.to_owned(), message: message.into() }
    }

    /// Returns a warning.
    #[must_use]
    pub fn warning(reason: &str, action: &str, message: impl Into<String>) -> Self {
        Self { warning: true, ..Self::normal(reason, action, message) }
    }
}

/// Repetitions within this time are counted on one event.
const SERIES_WINDOW: Duration = Duration::from_mins(10);
/// The shortest time between two updates of one event's count.
const MIN_UPDATE_INTERVAL: Duration = Duration::from_secs(10);
/// Events that are remembered to count repetitions.
const MAX_REMEMBERED: usize = 512;
/// The longest note in characters, of at most four bytes each: the API rejects notes of 1 kB and more.
const MAX_NOTE_CHARS: usize = 250;
/// Events that wait to be sent; further ones are dropped.
///
/// Source: `maxQueuedEvents` of client-go's `tools/record`.
const MAX_PENDING: usize = 1_000;

struct OpenSeries {
    name: String,
    count: i32,
    sent: Instant,
}

/// Sends notes as `events.k8s.io/v1` events, in the background; a repetition raises the count of the first event.
///
/// One is sent at a time: events must not take the place of the work that they report.
pub struct Recorder {
    state: Arc<RecorderState>,
}

/// What the task that sends shares with those who record.
struct RecorderState {
    client: Client,
    /// The reporting controller: `GROUP/NAME` of the operator.
    controller: String,
    instance: String,
    open: Mutex<HashMap<Key, OpenSeries>>,
    waiting: Mutex<VecDeque<PendingEvent>>,
    /// Whether a task sends what waits. Changed only while `waiting` is locked.
    sends: watch::Sender<bool>,
    /// The runtime that the recorder was made in.
    runtime: Option<Handle>,
}

/// The uid of an object, and what is said of it.
type Key = (String, Event);

/// An event that waits to be sent. A task for each would hold the state of a request.
struct PendingEvent {
    regarding: ObjectReference,
    key: Key,
    sending: SendKind,
}

enum SendKind {
    New(String),
    Repeat(String, i32),
}

impl Recorder {
    /// Returns a recorder; `instance` is the name of this manager's pod.
    ///
    /// It sends in the tokio runtime that it is made in or, without one, in that of a caller of [`Recorder::record`].
    #[must_use]
    pub fn new(client: Client, identity: &Identity, instance: String) -> Self {
        let state = RecorderState {
            client,
            controller: format!("{}/{}", identity.group, identity.name),
            instance,
            open: Mutex::default(),
            waiting: Mutex::default(),
            sends: watch::Sender::new(false),
            runtime: Handle::try_current().ok(),
        };
        Self { state: Arc::new(state) }
    }

    /// Sends a note in the background. A failure is logged, and has no other consequence.
    ///
    /// May be called from any thread. A recorder without a runtime keeps the note until it is called in one, or
    /// [`Recorder::flush`] is.
    pub fn record<O: Resource<DynamicType = ()>>(&self, object: &O, mut note: Event) {
        if let Some((end, _)) = note.message.char_indices().nth(MAX_NOTE_CHARS) {
            note.message.truncate(end);
            note.message.shrink_to_fit();
        }
        let regarding = object.object_ref(&());
        let Some(uid) = regarding.uid.clone() else { return };
        let Some(sending) = self.state.count(&uid, regarding.name.as_deref().unwrap_or_default(), &note)
        else {
            return;
        };
        let pending = PendingEvent { regarding, key: (uid, note), sending };
        let mut waiting = lock(&self.state.waiting);
        if waiting.len() >= MAX_PENDING {
            tracing::warn!(reason = pending.key.1.reason, "too many pending events; dropping one");
            lock(&self.state.open).remove(&pending.key);
            return;
        }
        waiting.push_back(pending);
        let Some(runtime) = Handle::try_current().ok().or_else(|| self.state.runtime.clone()) else {
            return;
        };
        if !self.state.sends.send_replace(true) {
            runtime.spawn(Arc::clone(&self.state).send_all());
        }
    }

    /// Returns how many events are remembered.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn remembered(&self) -> usize {
        lock(&self.state.open).len()
    }

    /// Waits until all recorded events are sent.
    pub async fn flush(&self) {
        let begins = {
            // Locked, so that no event is left behind by a task that ends.
            let waiting = lock(&self.state.waiting);
            !waiting.is_empty() && !self.state.sends.send_replace(true)
        };
        if begins {
            tokio::spawn(Arc::clone(&self.state).send_all());
        }
        // The sender is in `self`, so it is never dropped before.
        let _ = self.state.sends.subscribe().wait_for(|sends| !sends).await;
    }
}

impl RecorderState {
    /// Sends what waits, until nothing does.
    async fn send_all(self: Arc<Self>) {
        loop {
            let next = {
                let mut waiting = lock(&self.waiting);
                let next = waiting.pop_front();
                if next.is_none() {
                    // What a burst needed is given back.
                    *waiting = VecDeque::new();
                    self.sends.send_replace(false);
                }
                next
            };
            let Some(pending) = next else { return };
            self.send(pending).await;
        }
    }

    async fn send(&self, PendingEvent { regarding, key, sending }: PendingEvent) {
        // Events on cluster-scoped objects are in the namespace `default`.
        let namespace = regarding.namespace.clone().unwrap_or_else(|| "default".to_owned());
        let api: Api<ApiEvent> = Api::namespaced(self.client.clone(), &namespace);
        let sent = match sending {
            SendKind::New(name) => {
                let event = ApiEvent {
                    reporting_controller: Some(self.controller.clone()),
                    reporting_instance: Some(self.instance.clone()),
                    ..event(&regarding, &key.1, name, namespace)
                };
                api.create(&PostParams::default(), &event).await.map(drop)
            }
            SendKind::Repeat(name, count) => {
                let series = EventSeries { count, last_observed_time: MicroTime(Timestamp::now()) };
                let patch = Patch::Merge(json!({ "series": series }));
                api.patch_metadata(&name, &PatchParams::default(), &patch).await.map(drop)
            }
        };
        if let Err(error) = sent {
            let object = regarding.name.unwrap_or_default();
            tracing::warn!(%error, object, reason = key.1.reason, "failed to send an event");
            lock(&self.open).remove(&key);
        }
    }

    /// Counts a note; returns what has to be sent now, if anything.
    fn count(&self, uid: &str, object: &str, note: &Event) -> Option<SendKind> {
        let mut open = lock(&self.open);
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
            return Some(SendKind::Repeat(event.name.clone(), event.count));
        }
        let prefix: String = object.chars().take(200).collect();
        let name = format!("{prefix}.{:x}", Timestamp::now().as_nanosecond());
        if open.len() < MAX_REMEMBERED {
            open.insert(key, OpenSeries { name: name.clone(), count: 1, sent: Instant::now() });
        }
        Some(SendKind::New(name))
    }
}

fn event(regarding: &ObjectReference, note: &Event, name: String, namespace: String) -> ApiEvent {
    ApiEvent {
        metadata: ObjectMeta { name: Some(name), namespace: Some(namespace), ..ObjectMeta::default() },
        event_time: Some(MicroTime(Timestamp::now())),
        type_: Some(if note.warning { "Warning" } else { "Normal" }.to_owned()),
        reason: Some(note.reason.clone()),
        action: Some(note.action.clone()),
        note: Some(note.message.clone()),
        regarding: Some(regarding.clone()),
        ..ApiEvent::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Identity;
    use crate::testing::MockApi;
    use k8s_openapi::api::core::v1::ConfigMap;

    const IDENTITY: Identity =
        Identity { name: "test-operator", group: "test.example.com", version: "v1", about: "", image: "" };

    #[test]
    fn event_recorded_outside_of_a_runtime_is_sent() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (api, client) = runtime.block_on(async { MockApi::start() });
        let object = ConfigMap {
            metadata: ObjectMeta { uid: Some("u".to_owned()), ..ObjectMeta::default() },
            ..ConfigMap::default()
        };
        let inside = runtime.block_on(async { Recorder::new(client.clone(), &IDENTITY, "test".to_owned()) });
        inside.record(&object, Event::normal("Inside", "Test", ""));
        runtime.block_on(inside.flush());
        assert_eq!(api.events(), ["Inside"]);

        let outside = Recorder::new(client, &IDENTITY, "test".to_owned());
        outside.record(&object, Event::normal("Outside", "Test", ""));
        assert_eq!(api.events().len(), 1, "there is no runtime to send it in");
        runtime.block_on(outside.flush());
        assert_eq!(api.events().len(), 2);
    }

    #[tokio::test]
    async fn events_that_wait_are_limited_in_number_and_size_and_keep_their_order() {
        const MORE: usize = 50;
        let (api, client) = MockApi::start();
        let recorder = Recorder::new(client, &IDENTITY, "test".to_owned());
        let object = |index: usize| ConfigMap {
            metadata: ObjectMeta {
                name: Some(format!("a{index}")),
                namespace: Some("default".to_owned()),
                uid: Some(format!("uid-{index}")),
                ..ObjectMeta::default()
            },
            ..ConfigMap::default()
        };
        // Nothing is sent before this task waits.
        for index in 0..MAX_PENDING + MORE {
            recorder.record(&object(index), Event::normal("Tested", "Test", "\u{e9}".repeat(10_000)));
        }
        {
            let mut waiting = lock(&recorder.state.waiting);
            assert_eq!(waiting.len(), MAX_PENDING);
            assert!(waiting.iter().all(|pending| pending.key.1.message.chars().count() == MAX_NOTE_CHARS));
            let in_order = |(index, pending): (usize, &PendingEvent)| pending.key.0 == format!("uid-{index}");
            assert!(waiting.iter().enumerate().all(in_order));
            // The rest would only take time.
            waiting.truncate(3);
        }
        assert!(recorder.remembered() <= MAX_REMEMBERED);
        recorder.flush().await;
        assert_eq!(api.events(), ["Tested"; 3]);
        // The sender starts again.
        recorder.record(&object(0), Event::normal("Again", "Test", ""));
        recorder.flush().await;
        assert_eq!(api.events().iter().filter(|reason| *reason == "Again").count(), 1);
    }
}
