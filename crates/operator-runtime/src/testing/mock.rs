//! A mock API server: it stores, merges and versions objects, notifies watches, and fails on request.
//!
//! It implements the requests that operators make and panics on others, so that an unforeseen request fails a test.
//! Server-side apply removes the fields that a manager no longer applies, and conflicts with fields that others have set and
//! with another resource version. Every request is checked against the operator's permissions. Objects of the operator's CRDs get
//! the defaults of their schemas, but nothing is validated or pruned: for that, use a [`ControlPlane`](super::ControlPlane).

use super::defaults::Schemas;
use crate::manager::client_layers::LimitRequests;
use crate::operator::Operator;
use crate::rbac::Rule;
use axum::body::{Body as AnswerBody, Bytes};
use axum::http::{Request, Response, StatusCode};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::stream;
use kube::Client;
use kube::client::{Body, ClientBuilder, retry::RetryPolicy};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::mpsc;
use tower::retry::RetryLayer;
use tower_test::mock;

/// One request, in the terms of RBAC.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    /// The verb.
    pub verb: String,
    /// The API group; empty for the core group.
    pub group: String,
    /// Plural, with `/subresource`.
    pub resource: String,
    /// Name of the object; empty for lists and watches.
    pub name: String,
    /// Status code of the response; 0 if there was none.
    pub code: u16,
}

impl Call {
    /// Whether the request changes something.
    #[must_use]
    pub fn is_write(&self) -> bool {
        !matches!(self.verb.as_str(), "list" | "watch" | "get")
    }
}

/// Failures to come: of how many requests with this verb and resource, and how.
#[derive(Clone, Debug)]
pub struct Fault {
    /// The verb.
    pub verb: &'static str,
    /// Plural, with `/subresource`.
    pub resource: &'static str,
    /// The object; any if it is not set.
    pub name: Option<&'static str>,
    /// How many requests fail.
    pub times: usize,
    /// Status code of the response.
    pub code: u16,
    /// Reason of the response.
    pub reason: &'static str,
    /// Message of the response.
    pub message: &'static str,
    /// Seconds of the header `Retry-After`.
    pub retry_after: Option<u32>,
    /// What happens to the store just before the failure.
    pub first: Option<fn(&mut MockStore)>,
    /// There is no response at all, and the request is not handled.
    pub swallow: bool,
}

impl Fault {
    /// Returns one failure of the next such request.
    #[must_use]
    pub fn new(verb: &'static str, resource: &'static str, code: u16, reason: &'static str) -> Self {
        Self {
            verb,
            resource,
            name: None,
            times: 1,
            code,
            reason,
            message: "injected by the test",
            retry_after: None,
            first: None,
            swallow: false,
        }
    }

    fn hits(&self, verb: &str, path: &Path) -> bool {
        self.verb == verb && self.resource == path.resource && self.name.is_none_or(|name| name == path.name)
    }
}

/// A change of the store just before a request is handled.
struct Interception {
    verb: &'static str,
    resource: &'static str,
    change: Box<dyn FnOnce(&mut MockStore) + Send>,
}

impl std::fmt::Debug for Interception {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Interception")
            .field("verb", &self.verb)
            .field("resource", &self.resource)
            .finish_non_exhaustive()
    }
}

/// Resource, namespace and name.
type Key = (String, String, String);

/// Everything that was stored, and the newest version.
#[derive(Clone, Debug)]
pub struct Backup {
    objects: BTreeMap<Key, Value>,
    version: u64,
}

/// The namespace of objects that do not set one.
const NAMESPACE: &str = "default";
/// Cluster-scoped resources; an operator's own ones are added.
const CLUSTER_SCOPED: [&str; 15] = [
    "apiservices",
    "certificatesigningrequests",
    "clusterrolebindings",
    "clusterroles",
    "csidrivers",
    "customresourcedefinitions",
    "ingressclasses",
    "mutatingwebhookconfigurations",
    "namespaces",
    "nodes",
    "persistentvolumes",
    "priorityclasses",
    "runtimeclasses",
    "storageclasses",
    "validatingwebhookconfigurations",
];

/// What the server stores.
#[derive(Debug, Default)]
pub struct MockStore {
    objects: BTreeMap<Key, Value>,
    /// What was applied last, by object, manager and subresource.
    applied: BTreeMap<(Key, String, String), Value>,
    version: u64,
    watchers: Vec<Watcher>,
    /// Past events, for watches that begin at an older version.
    history: Vec<(u64, String, WatchNotice)>,
    faults: Vec<Fault>,
    interceptions: Vec<Interception>,
    /// The length of the history since which watches report nothing.
    held: Option<usize>,
    calls: Vec<Call>,
    down: bool,
    /// The permissions; everything is allowed without any.
    rules: Vec<Rule>,
    cluster_scoped: BTreeSet<String>,
    /// The API group of each plural that was requested.
    groups: BTreeMap<String, String>,
    /// The plurals that an operator uses of several groups: their objects are stored as `PLURAL.GROUP`.
    ambiguous: BTreeSet<String>,
    /// The schemas of the operator's own kinds, by the names under which their objects are stored.
    schemas: BTreeMap<String, Schemas>,
}

/// What a list or a watch selects.
#[derive(Clone, Debug, Default)]
struct Selection {
    namespace: Option<String>,
    labels: Vec<Requirement>,
    fields: Vec<Requirement>,
}

/// One requirement of a label or field selector.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Requirement {
    In(String, Vec<String>),
    /// It also holds if the key does not exist.
    NotIn(String, Vec<String>),
    Exists(String),
    DoesNotExist(String),
}

impl Requirement {
    /// Parses a selector as the API server does: `a=b`, `a==b`, `a!=b`, `a in (b, c)`, `a notin (b, c)`, `a` and `!a`, joined by
    /// commas.
    fn parse_all(selector: &str) -> Vec<Self> {
        let (mut parts, mut depth) = (vec![String::new()], 0);
        for character in selector.chars() {
            match character {
                '(' => depth += 1,
                ')' => depth -= 1,
                ',' if depth == 0 => {
                    parts.push(String::new());
                    continue;
                }
                _ => {}
            }
            parts.last_mut().unwrap().push(character);
        }
        parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty()).map(Self::parse).collect()
    }

    fn parse(part: &str) -> Self {
        let set = |values: &str| -> Vec<String> {
            let values = values.trim().strip_prefix('(').and_then(|values| values.strip_suffix(')'));
            let values = values.unwrap_or_else(|| panic!("invalid selector `{part}`"));
            values.split(',').map(|value| value.trim().to_owned()).collect()
        };
        let one = |value: &str| vec![value.trim().to_owned()];
        let key = |key: &str| key.trim().to_owned();
        if let Some((name, values)) = part.split_once(" notin ") {
            Self::NotIn(key(name), set(values))
        } else if let Some((name, values)) = part.split_once(" in ") {
            Self::In(key(name), set(values))
        } else if let Some((name, value)) = part.split_once("!=") {
            Self::NotIn(key(name), one(value))
        } else if let Some((name, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
            Self::In(key(name), one(value))
        } else if let Some(name) = part.strip_prefix('!') {
            Self::DoesNotExist(key(name))
        } else {
            Self::Exists(key(part))
        }
    }

    fn holds<'a>(&self, find: impl Fn(&str) -> Option<&'a str>) -> bool {
        let is_in = |value: &str, values: &[String]| values.iter().any(|wanted| wanted == value);
        match self {
            Self::In(key, values) => find(key).is_some_and(|value| is_in(value, values)),
            Self::NotIn(key, values) => find(key).is_none_or(|value| !is_in(value, values)),
            Self::Exists(key) => find(key).is_some(),
            Self::DoesNotExist(key) => find(key).is_none(),
        }
    }
}

/// Decodes a value of a query.
fn decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, tail @ ..] = rest {
        let escaped = (*first == b'%')
            .then(|| text.get(text.len() - tail.len()..text.len() - tail.len() + 2))
            .flatten();
        match (first, escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok())) {
            (_, Some(byte)) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            (b'+', None) => {
                bytes.push(b' ');
                rest = tail;
            }
            (byte, None) => {
                bytes.push(*byte);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).unwrap()
}

impl Selection {
    fn new(path: &Path, query: &str) -> Self {
        let selector = |name: &str| {
            let value = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
            value.map(|value| Requirement::parse_all(&decoded(value))).unwrap_or_default()
        };
        Self {
            namespace: Some(path.namespace.clone()).filter(|namespace| !namespace.is_empty()),
            labels: selector("labelSelector"),
            fields: selector("fieldSelector"),
        }
    }

    fn labelled(&self, object: &Value) -> bool {
        let label = |key: &str| object["metadata"]["labels"][key].as_str();
        // A field that is not set is an empty one.
        let field = |path: &str| {
            Some(path.split('.').fold(object, |value, key| &value[key]).as_str().unwrap_or_default())
        };
        self.labels.iter().all(|requirement| requirement.holds(label))
            && self.fields.iter().all(|requirement| requirement.holds(field))
    }

    fn selects_all(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    fn contains(&self, object: &Value) -> bool {
        self.namespace.as_ref().is_none_or(|wanted| object["metadata"]["namespace"] == **wanted)
    }
}

#[derive(Debug)]
struct Watcher {
    resource: String,
    selection: Selection,
    sender: mpsc::UnboundedSender<Bytes>,
}

/// A change that watches may have to report.
#[derive(Clone, Debug)]
struct WatchNotice {
    kind: &'static str,
    object: Value,
    old: Option<Value>,
}

impl WatchNotice {
    /// Returns the event for a watch. A label that is added or removed is reported as an object that is.
    fn to(&self, selection: &Selection) -> Option<Bytes> {
        if !selection.contains(&self.object) {
            return None;
        }
        let before = self.old.as_ref().is_some_and(|old| selection.labelled(old));
        let kind = match (before, selection.labelled(&self.object) && self.kind != "DELETED") {
            _ if selection.selects_all() => self.kind,
            (true, true) => "MODIFIED",
            (true, false) => "DELETED",
            (false, true) => "ADDED",
            (false, false) => return None,
        };
        Some(line(&json!({ "type": kind, "object": self.object })))
    }
}

/// Options of the server.
#[derive(Clone, Copy, Debug)]
pub struct MockOptions {
    /// Time after which requests of the client fail.
    pub timeout: Duration,
    /// Seed of random delays of responses and watch events, so that they interleave differently; none if it is not set.
    pub shuffle: Option<u64>,
}

impl Default for MockOptions {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(30), shuffle: None }
    }
}

/// The longest random delay, in milliseconds.
const MAX_DELAY: u64 = 20;

/// Random delays.
#[derive(Clone, Debug, Default)]
struct Shuffle {
    state: Option<Arc<AtomicU64>>,
}

impl Shuffle {
    async fn delay(&self) {
        let Some(state) = &self.state else { return };
        let mut next = state.load(Ordering::Relaxed);
        next ^= next << 13;
        next ^= next >> 7;
        next ^= next << 17;
        state.store(next, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_millis(next % (MAX_DELAY + 1))).await;
    }
}

/// The server.
#[derive(Clone, Debug, Default)]
pub struct MockApi {
    store: Arc<Mutex<MockStore>>,
    shuffle: Shuffle,
}

impl MockApi {
    /// Starts a server, and returns a client of it with the same retries and limits as the real one.
    #[must_use]
    pub fn start() -> (Self, Client) {
        Self::start_with(MockOptions::default())
    }

    /// Starts a server with options, and returns a client of it.
    #[must_use]
    pub fn start_with(options: MockOptions) -> (Self, Client) {
        // Zero would stay zero.
        let state = options.shuffle.map(|seed| Arc::new(AtomicU64::new(seed | 1 << 40)));
        let api = Self { shuffle: Shuffle { state }, ..Self::default() };
        // As etcd: no object has the version 1.
        api.store().version = 1;
        let client = api.client(options);
        (api, client)
    }

    /// Returns another client of the server, such as that of a second manager, or of one that was restarted.
    #[must_use]
    pub fn client(&self, options: MockOptions) -> Client {
        let (service, mut handle) = mock::pair::<Request<Body>, Response<AnswerBody>>();
        let client = ClientBuilder::new(service, NAMESPACE)
            .with_layer(&RetryLayer::new(RetryPolicy::server_retry()))
            .with_layer(&LimitRequests::new(options.timeout))
            .build();
        let serving = self.clone();
        tokio::spawn(async move {
            while let Some((request, reply)) = handle.next_request().await {
                let api = serving.clone();
                tokio::spawn(async move {
                    let (parts, body) = request.into_parts();
                    let body = body.collect_bytes().await.unwrap();
                    api.shuffle.delay().await;
                    let response = api.store().answer(&parts, &body, &api.shuffle);
                    api.shuffle.delay().await;
                    match response {
                        Some(response) => reply.send_response(response),
                        // The connection stays open.
                        None => std::future::pending().await,
                    }
                });
            }
        });
        client
    }

    /// Allows only what an operator has permissions for: any other request fails the test. Objects of its CRDs get the defaults of
    /// their schemas, including existing objects. If it uses kinds of the same plural in
    /// several groups, their objects are those of `PLURAL.GROUP`.
    pub fn allow(&self, operator: &Operator) {
        let mut store = self.store();
        store.rules = operator.permissions().iter().cloned().collect();
        let crds = operator.crds.iter().map(|crd| (crd.plural(), crd.group(), crd.is_namespaced()));
        let mut used = crds.collect::<Vec<_>>();
        for info in operator.controllers.iter().map(|controller| controller.info()) {
            let own = std::iter::once((&info.resource, info.namespaced));
            let children = info.declared.children.iter().map(|kind| (&kind.resource, kind.namespaced));
            let related = info.declared.related.iter().map(|kind| (&kind.resource, kind.namespaced));
            let references = info.declared.references.iter().map(|kind| (&kind.resource, kind.namespaced));
            let all = own.chain(children).chain(related).chain(references);
            used.extend(all.map(|(of, namespaced)| (of.plural.as_str(), of.group.as_str(), namespaced)));
        }
        let mut groups = BTreeMap::new();
        for (plural, group, _) in &used {
            if *groups.entry(*plural).or_insert(*group) != *group {
                store.ambiguous.insert((*plural).to_owned());
            }
        }
        for (plural, group, _) in used.into_iter().filter(|(.., namespaced)| !namespaced) {
            let name = store.stored_as(plural, group);
            store.cluster_scoped.insert(name);
        }
        store.rescope();
        for crd in &operator.crds {
            let name = store.stored_as(crd.plural(), crd.group());
            store.schemas.insert(name, Schemas::new(crd));
        }
        store.complete();
    }

    /// Returns what is stored.
    pub fn store(&self) -> MutexGuard<'_, MockStore> {
        self.store.lock().unwrap()
    }

    /// Returns an object; the name may be `NAMESPACE/NAME`, and is in the namespace `default` otherwise.
    #[must_use]
    pub fn get(&self, resource: &str, name: &str) -> Option<Value> {
        let store = self.store();
        store.objects.get(&store.key(resource, name)).cloned()
    }

    /// Puts an object as a user does.
    pub fn put(&self, resource: &str, object: Value) {
        self.store().put(resource, object);
    }

    /// Changes an object as a user, another controller or the garbage collector does.
    pub fn change(&self, resource: &str, name: &str, change: impl FnOnce(&mut Value)) {
        let mut store = self.store();
        let mut object = store.objects[&store.key(resource, name)].clone();
        let spec = object["spec"].clone();
        change(&mut object);
        if let Some(schemas) = store.schemas.get(resource) {
            schemas.complete(&mut object);
        }
        if object["spec"] != spec {
            bump(&mut object);
        }
        store.put(resource, object);
    }

    /// Sets a label as `kubectl label` does; `None` removes it.
    pub fn label(&self, resource: &str, name: &str, label: &str, value: Option<&str>) {
        self.set_metadata(resource, name, "labels", (label, value));
    }

    /// Sets an annotation as `kubectl annotate` does; `None` removes it.
    pub fn annotate(&self, resource: &str, name: &str, annotation: &str, value: Option<&str>) {
        self.set_metadata(resource, name, "annotations", (annotation, value));
    }

    fn set_metadata(&self, resource: &str, name: &str, field: &str, (key, value): (&str, Option<&str>)) {
        self.change(resource, name, |object| {
            merge(object, &json!({"metadata": {field: {key: value}}}));
        });
    }

    /// Sets the number of replicas as `kubectl scale` does: `spec.replicas`, or what the operator's CRD names as the path.
    pub fn scale(&self, resource: &str, name: &str, replicas: u32) {
        let object = self.get(resource, name).unwrap_or_else(|| panic!("there is no {resource}/{name}"));
        let path = match self.store().schemas.get(resource) {
            Some(schemas) => schemas.replicas(&object).map(ToOwned::to_owned),
            None => Some(".spec.replicas".to_owned()),
        };
        let path = path.unwrap_or_else(|| panic!("the CRD of {resource} has no subresource `scale`"));
        let scaled =
            path.trim_start_matches('.').rsplit('.').fold(json!(replicas), |value, key| json!({key: value}));
        self.change(resource, name, |object| merge(object, &scaled));
    }

    /// Deletes an object as a user does: what has finalizers only gets its timestamp.
    pub fn delete(&self, resource: &str, name: &str) {
        self.store().delete(resource, name);
    }

    /// Has requests fail.
    pub fn fault(&self, fault: Fault) {
        self.store().faults.push(fault);
    }

    /// Has no further request fail.
    pub fn clear_faults(&self) {
        self.store().faults.clear();
    }

    /// Changes the store just before the next request with this verb and resource is handled, which then succeeds.
    pub fn intercept(
        &self,
        verb: &'static str,
        resource: &'static str,
        change: impl FnOnce(&mut MockStore) + Send + 'static,
    ) {
        self.store().interceptions.push(Interception { verb, resource, change: Box::new(change) });
    }

    /// Has the watches report what they held back since [`MockStore::hold_watches`].
    pub fn release_watches(&self) {
        let mut store = self.store();
        let Some(since) = store.held.take() else { return };
        let MockStore { history, watchers, .. } = &mut *store;
        for (_, resource, notice) in history.iter().skip(since) {
            send(watchers, resource, notice);
        }
    }

    /// Returns all requests so far.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        self.store().calls.clone()
    }

    /// Returns all successful writes so far but events, as `VERB RESOURCE`.
    #[must_use]
    pub fn writes(&self) -> Vec<String> {
        let writes = self.calls().into_iter().filter(|call| call.is_write() && call.code < 300);
        writes
            .filter(|call| call.resource != "events")
            .map(|call| format!("{} {}", call.verb, call.resource))
            .collect()
    }

    /// Forgets past requests and events, so that a long test needs little memory.
    pub fn truncate(&self) {
        let mut store = self.store();
        store.calls.clear();
        store.history.clear();
    }

    /// Changes an object as a user does, but no watch reports it.
    pub fn change_unnoticed(&self, resource: &str, name: &str, change: impl FnOnce(&mut Value)) {
        let watchers = std::mem::take(&mut self.store().watchers);
        self.change(resource, name, change);
        let mut store = self.store();
        store.history.pop();
        store.watchers = watchers;
    }

    /// Returns a backup of everything that is stored.
    #[must_use]
    pub fn backup(&self) -> Backup {
        let store = self.store();
        Backup { objects: store.objects.clone(), version: store.version }
    }

    /// Restores a backup, as with etcd: versions go back, and all watches have to list again.
    pub fn restore(&self, Backup { objects, version }: Backup) {
        self.expire_watches(|store| {
            store.objects = objects;
            store.version = version;
        });
    }

    /// Breaks every connection and fails every request until it is called with `false`.
    pub fn down(&self, down: bool) {
        let mut store = self.store();
        store.down = down;
        store.watchers.clear();
    }

    /// Ends every watch because its version is too old, after a change that no watch reports.
    pub fn expire_watches(&self, unheard: impl FnOnce(&mut MockStore)) {
        let mut store = self.store();
        let watchers = std::mem::take(&mut store.watchers);
        unheard(&mut store);
        store.history.clear();
        for watcher in watchers {
            let gone = json!({"type": "ERROR", "object": {
                "kind": "Status", "status": "Failure", "code": 410, "reason": "Expired", "message": "too old",
            }});
            let _ = watcher.sender.send(line(&gone));
        }
    }
}

/// Reports a change to the watches that select it.
fn send(watchers: &mut Vec<Watcher>, resource: &str, notice: &WatchNotice) {
    watchers.retain(|watcher| {
        watcher.resource != resource
            || notice.to(&watcher.selection).is_none_or(|event| watcher.sender.send(event).is_ok())
    });
}

fn line(value: &Value) -> Bytes {
    Bytes::from(format!("{value}\n"))
}

fn bump(object: &mut Value) {
    let generation = object["metadata"]["generation"].as_i64().unwrap_or_default();
    object["metadata"]["generation"] = json!(generation + 1);
}

impl MockStore {
    /// Returns the key of `NAME`, or of `NAMESPACE/NAME`.
    fn key(&self, resource: &str, name: &str) -> Key {
        let (namespace, name) = name.split_once('/').unwrap_or((NAMESPACE, name));
        let namespace = if self.is_cluster_scoped(resource) { "" } else { namespace };
        (resource.to_owned(), namespace.to_owned(), name.to_owned())
    }

    fn key_of(&self, resource: &str, object: &Value) -> Key {
        let text = |field: &str| object["metadata"][field].as_str();
        let name = text("name").expect("the object has a name");
        self.key(resource, &format!("{}/{name}", text("namespace").unwrap_or(NAMESPACE)))
    }

    fn is_cluster_scoped(&self, resource: &str) -> bool {
        CLUSTER_SCOPED.contains(&resource) || self.cluster_scoped.contains(resource)
    }

    /// Moves what was put before it was known that its kind is cluster-scoped.
    fn rescope(&mut self) {
        let misplaced = self
            .objects
            .keys()
            .filter(|(resource, namespace, _)| !namespace.is_empty() && self.is_cluster_scoped(resource));
        for key in misplaced.cloned().collect::<Vec<_>>() {
            if let Some(mut object) = self.objects.remove(&key) {
                object["metadata"].as_object_mut().unwrap().remove("namespace");
                self.objects.insert((key.0, String::new(), key.2), object);
            }
        }
    }

    /// Sets the defaults in what was put before its schema was known, as the API server does when it reads objects.
    fn complete(&mut self) {
        let Self { objects, schemas, .. } = self;
        for ((resource, ..), object) in objects {
            if let Some(schemas) = schemas.get(resource) {
                schemas.complete(object);
            }
        }
    }

    /// Puts an object as a user does, and notifies the watches. One that exists keeps its uid and, unless it is given, its status.
    pub fn put(&mut self, resource: &str, mut object: Value) {
        self.version += 1;
        let key = self.key_of(resource, &object);
        if let Some(schemas) = self.schemas.get(resource) {
            schemas.complete(&mut object);
        }
        if let Some(old) = self.objects.get(&key).filter(|_| object["metadata"].get("uid").is_none()) {
            object["metadata"]["uid"] = old["metadata"]["uid"].clone();
            if object["metadata"].get("generation").is_none() && old["metadata"]["generation"].is_i64() {
                object["metadata"]["generation"] = old["metadata"]["generation"].clone();
                if object["spec"] != old["spec"] {
                    bump(&mut object);
                }
            }
            if object.get("status").is_none() && old.get("status").is_some() {
                object["status"] = old["status"].clone();
            }
        }
        let namespaced = !self.is_cluster_scoped(resource);
        if resource == "secrets"
            && let Some(Value::Object(text)) =
                object.as_object_mut().and_then(|secret| secret.remove("stringData"))
        {
            for (name, value) in text {
                object["data"][name] = json!(STANDARD.encode(value.as_str().unwrap_or_default()));
            }
        }
        // Kinds without a spec, such as ConfigMaps, have no generation.
        let has_spec = object.get("spec").is_some();
        let metadata = object["metadata"].as_object_mut().unwrap();
        metadata.insert("resourceVersion".into(), json!(self.version.to_string()));
        if namespaced {
            metadata.entry("namespace").or_insert_with(|| json!(NAMESPACE));
        }
        if has_spec {
            metadata.entry("generation").or_insert_with(|| json!(1));
        }
        let uid = json!(format!("uid-{}", self.version));
        metadata.entry("uid").or_insert(uid);
        let gone = object["metadata"]["deletionTimestamp"].is_string()
            && object["metadata"]["finalizers"].as_array().is_none_or(Vec::is_empty);
        let old = if gone {
            self.applied.retain(|(of, ..), _| *of != key);
            self.objects.remove(&key).or_else(|| Some(object.clone()))
        } else {
            self.objects.insert(key, object.clone())
        };
        let kind = match (&old, gone) {
            (_, true) => "DELETED",
            (Some(_), false) => "MODIFIED",
            (None, false) => "ADDED",
        };
        self.notify(resource, kind, object, old);
    }

    /// Deletes an object as a user does: what has finalizers only gets its timestamp.
    pub fn delete(&mut self, resource: &str, name: &str) {
        let key = self.key(resource, name);
        let Some(mut object) = self.objects.remove(&key) else { return };
        object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        if object["metadata"]["finalizers"].as_array().is_some_and(|list| !list.is_empty()) {
            self.objects.insert(key, object.clone());
        }
        self.put(resource, object);
    }

    fn notify(&mut self, resource: &str, kind: &'static str, object: Value, old: Option<Value>) {
        let notice = WatchNotice { kind, object, old };
        if self.held.is_none() {
            send(&mut self.watchers, resource, &notice);
        }
        self.history.push((self.version, resource.to_owned(), notice));
    }

    /// Has the watches report no further change until [`MockApi::release_watches`].
    pub fn hold_watches(&mut self) {
        self.held.get_or_insert(self.history.len());
    }

    /// Returns all objects of a resource.
    pub fn all<'a>(&'a self, resource: &'a str) -> impl Iterator<Item = &'a Value> {
        self.objects.iter().filter(move |((found, ..), _)| found == resource).map(|(_, object)| object)
    }

    /// Changes an object and notifies the watches. Unlike [`MockApi::change`], it leaves `metadata.generation` as it is.
    pub fn edit(&mut self, resource: &str, name: &str, change: impl FnOnce(&mut Value)) {
        let mut object = self.objects[&self.key(resource, name)].clone();
        change(&mut object);
        self.put(resource, object);
    }

    /// Removes all objects of a resource; no watch reports it.
    pub fn drop_all(&mut self, resource: &str) {
        self.objects.retain(|(found, ..), _| found != resource);
        self.applied.retain(|((found, ..), ..), _| found != resource);
    }

    /// Removes an object whatever its finalizers are.
    pub fn drop_object(&mut self, resource: &str, name: &str) {
        let key = self.key(resource, name);
        self.applied.retain(|(of, ..), _| *of != key);
        if let Some(object) = self.objects.remove(&key) {
            self.version += 1;
            self.notify(resource, "DELETED", object.clone(), Some(object));
        }
    }

    /// Returns whether a rule allows a request.
    fn allows(&self, verb: &str, path: &Path) -> bool {
        let resource = path.resource.strip_prefix(&path.stored_as).unwrap_or_default();
        let resource = format!("{}{resource}", path.plural);
        self.rules.is_empty() || self.rules.iter().any(|rule| rule.allows(verb, &path.group, &resource))
    }

    /// Returns under which name the objects of a kind are stored.
    fn stored_as(&self, plural: &str, group: &str) -> String {
        if self.ambiguous.contains(plural) { format!("{plural}.{group}") } else { plural.to_owned() }
    }

    /// Returns the response; `None` if there is none.
    fn answer(
        &mut self,
        parts: &axum::http::request::Parts,
        body: &[u8],
        shuffle: &Shuffle,
    ) -> Option<Response<AnswerBody>> {
        if parts.uri.path() == "/apis" {
            return Some(ok(&json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": []})));
        }
        let mut path = Path::parse(parts.uri.path());
        path.stored_as = self.stored_as(&path.plural, &path.group);
        path.resource = path.resource.replacen(&path.plural, &path.stored_as, 1);
        let group = self.groups.entry(path.stored_as.clone()).or_insert_with(|| path.group.clone());
        assert_eq!(*group, path.group, "the mock API server stores `{}` of one group only", path.resource);
        let query = parts.uri.query().unwrap_or_default();
        let verb = match (parts.method.as_str(), path.name.is_empty()) {
            ("GET", true) if query.contains("watch=true") => "watch",
            ("GET", true) => "list",
            ("GET", false) => "get",
            ("PATCH", _) => "patch",
            ("PUT", _) => "update",
            ("POST", _) => "create",
            ("DELETE", _) => "delete",
            other => panic!("{other:?}"),
        };
        let call = |code| Call {
            verb: verb.to_owned(),
            group: path.group.clone(),
            resource: path.resource.clone(),
            name: path.name.clone(),
            code,
        };
        let swallowed = self.faults.iter().position(|fault| fault.swallow && fault.hits(verb, &path));
        if let Some(index) = swallowed {
            self.use_fault(index);
            self.calls.push(call(0));
            return None;
        }
        let answer = self.respond(verb, &path, query, body, shuffle);
        self.calls.push(call(answer.status().as_u16()));
        Some(answer)
    }

    /// Has a fault occur once, and returns it.
    fn use_fault(&mut self, index: usize) -> Fault {
        self.faults[index].times -= 1;
        let fault = self.faults[index].clone();
        if fault.times == 0 {
            self.faults.remove(index);
        }
        if let Some(first) = fault.first {
            first(self);
        }
        fault
    }

    fn respond(
        &mut self,
        verb: &str,
        path: &Path,
        query: &str,
        body: &[u8],
        shuffle: &Shuffle,
    ) -> Response<AnswerBody> {
        if self.down {
            return failure(500, "InternalError", "the API server is away", None);
        }
        assert!(self.allows(verb, path), "no rule allows {verb} {}", path.resource);
        let fault = self.faults.iter().position(|fault| fault.hits(verb, path));
        if let Some(index) = fault {
            let fault = self.use_fault(index);
            return failure(fault.code, fault.reason, fault.message, fault.retry_after);
        }
        let intercepted =
            self.interceptions.iter().position(|at| at.verb == verb && at.resource == path.resource);
        if let Some(index) = intercepted {
            (self.interceptions.remove(index).change)(self);
        }
        let selection = Selection::new(path, query);
        let (resource, subresource) = path.resource.split_once('/').unwrap_or((&path.resource, ""));
        let key = self.key(resource, &path.full_name());
        match verb {
            "list" => {
                let found = self.objects.iter().filter(|((found, ..), object)| {
                    found == resource && selection.contains(object) && selection.labelled(object)
                });
                let items: Vec<&Value> = found.map(|(_, object)| object).collect();
                ok(&json!({
                    "kind": "List", "apiVersion": "v1",
                    "metadata": {"resourceVersion": self.version.to_string()}, "items": items,
                }))
            }
            "watch" => {
                let (sender, receiver) = mpsc::unbounded_channel();
                let since = query
                    .split('&')
                    .find_map(|pair| pair.strip_prefix("resourceVersion=")?.parse::<u64>().ok());
                for (_, _, notice) in self.history.iter().filter(|(version, changed, _)| {
                    changed == resource && since.is_some_and(|since| *version > since)
                }) {
                    let _ = notice.to(&selection).map(|event| sender.send(event));
                }
                self.watchers.push(Watcher { resource: resource.to_owned(), selection, sender });
                let lines =
                    stream::unfold((receiver, shuffle.clone()), |(mut receiver, shuffle)| async move {
                        let line = receiver.recv().await?;
                        shuffle.delay().await;
                        Some((Ok::<_, Infallible>(line), (receiver, shuffle)))
                    });
                Response::new(AnswerBody::from_stream(lines))
            }
            "get" => match self.objects.get(&key) {
                Some(object) => ok(object),
                None => not_found(),
            },
            "create" => {
                let object: Value = serde_json::from_slice(body).unwrap();
                let key = self.key_of(resource, &object);
                if self.objects.contains_key(&key) {
                    return failure(409, "AlreadyExists", "the object exists already", None);
                }
                self.put(resource, object);
                ok(&self.objects[&key])
            }
            "update" => {
                let mut object: Value = serde_json::from_slice(body).unwrap();
                let Some(old) = self.objects.get(&key) else { return not_found() };
                if object["metadata"]["resourceVersion"] != old["metadata"]["resourceVersion"] {
                    return failure(409, "Conflict", "the object has been modified", None);
                }
                object["metadata"]["uid"] = old["metadata"]["uid"].clone();
                self.put(resource, object);
                ok(&self.objects[&key])
            }
            "delete" => {
                if !self.objects.contains_key(&key) {
                    return not_found();
                }
                let options: Value = serde_json::from_slice(body).unwrap_or_default();
                let wanted = &options["preconditions"]["uid"];
                if wanted.is_string() && *wanted != self.objects[&key]["metadata"]["uid"] {
                    return failure(409, "Conflict", "the uid in the precondition differs", None);
                }
                self.delete(resource, &path.full_name());
                ok(&json!({"kind": "Status", "status": "Success"}))
            }
            _ => self.patch(resource, subresource, &key, query, body),
        }
    }

    fn patch(
        &mut self,
        resource: &str,
        subresource: &str,
        key: &Key,
        query: &str,
        body: &[u8],
    ) -> Response<AnswerBody> {
        let mut patch: Value = serde_json::from_slice(body).unwrap();
        let old = self.objects.get(key).cloned();
        let version = &patch["metadata"]["resourceVersion"];
        if version.is_string()
            && old.as_ref().is_some_and(|old| *version != old["metadata"]["resourceVersion"])
        {
            return failure(409, "Conflict", "the object has been modified", None);
        }
        let uid = &patch["metadata"]["uid"];
        if uid.is_string() && old.as_ref().is_some_and(|old| *uid != old["metadata"]["uid"]) {
            return failure(409, "Conflict", "the object is another one", None);
        }
        let applying = query.contains("fieldManager=") && patch.get("apiVersion").is_some();
        let mut new = match (&old, applying) {
            (Some(old), _) => old.clone(),
            (None, true) if subresource.is_empty() => json!({}),
            (None, _) => return not_found(),
        };
        if applying {
            if let Some(metadata) = patch["metadata"].as_object_mut() {
                metadata.remove("resourceVersion");
            }
            let part = if subresource == "status" { json!({ "status": patch["status"] }) } else { patch };
            let manager =
                query.split('&').find_map(|pair| pair.strip_prefix("fieldManager=")).unwrap_or_default();
            let set = (key.clone(), manager.to_owned(), subresource.to_owned());
            let before = self.applied.get(&set);
            if !query.contains("force=true") && conflicts(&new, before, &part) {
                return failure(409, "Conflict", "another manager has set these fields", None);
            }
            if let Some(before) = before {
                remove_unapplied(&mut new, before, &part);
            }
            apply(&mut new, &part);
            let owners = new["metadata"]["ownerReferences"].as_array().into_iter().flatten();
            if owners.filter(|owner| owner["controller"] == true).count() > 1 {
                return failure(422, "Invalid", "only one reference can have Controller set to true", None);
            }
            self.applied.insert(set, part);
        } else {
            let part = if subresource == "status" { json!({ "status": patch["status"] }) } else { patch };
            merge(&mut new, &part);
        }
        if let Some(schemas) = self.schemas.get(resource) {
            schemas.complete(&mut new);
        }
        if let Some(old) = &old {
            if new["spec"] != old["spec"] {
                bump(&mut new);
            }
            if new == *old {
                return ok(old);
            }
        }
        self.put(resource, new.clone());
        let mut answer = ok(self.objects.get(key).unwrap_or(&new));
        if old.is_none() {
            *answer.status_mut() = StatusCode::CREATED;
        }
        answer
    }
}

struct Path {
    group: String,
    namespace: String,
    plural: String,
    /// The name under which objects of this kind are stored.
    stored_as: String,
    /// That name, and the subresource.
    resource: String,
    name: String,
}

impl Path {
    /// Takes `/apis/GROUP/VERSION/[namespaces/NS/]PLURAL[/NAME[/SUBRESOURCE]]` apart.
    fn parse(path: &str) -> Self {
        let mut parts = path.trim_matches('/').split('/').collect::<Vec<_>>().into_iter();
        let group = if parts.next() == Some("api") { "" } else { parts.next().unwrap() };
        let mut rest = parts.skip(1).collect::<Vec<_>>();
        let mut namespace = String::new();
        if rest[0] == "namespaces" && rest.len() > 2 {
            rest[1].clone_into(&mut namespace);
            rest.drain(..2);
        }
        let resource = match rest.get(2) {
            Some(subresource) => format!("{}/{subresource}", rest[0]),
            None => rest[0].to_owned(),
        };
        let name = rest.get(1).copied().unwrap_or_default().to_owned();
        let plural = rest[0].to_owned();
        Self { group: group.to_owned(), namespace, stored_as: plural.clone(), plural, resource, name }
    }

    fn full_name(&self) -> String {
        let namespace = if self.namespace.is_empty() { NAMESPACE } else { &self.namespace };
        format!("{namespace}/{}", self.name)
    }
}

fn ok(value: &Value) -> Response<AnswerBody> {
    Response::new(AnswerBody::from(value.to_string()))
}

fn not_found() -> Response<AnswerBody> {
    failure(404, "NotFound", "there is no such object", None)
}

fn failure(code: u16, reason: &str, message: &str, retry_after: Option<u32>) -> Response<AnswerBody> {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure",
        "code": code, "reason": reason, "message": message,
    });
    let mut answer = Response::new(AnswerBody::from(status.to_string()));
    *answer.status_mut() = StatusCode::from_u16(code).unwrap();
    if let Some(seconds) = retry_after {
        answer.headers_mut().insert("Retry-After", seconds.into());
    }
    answer
}

/// RFC 7386.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let map = target.as_object_mut().unwrap();
    for (key, value) in patch {
        if value.is_null() {
            map.remove(key);
        } else {
            merge(map.entry(key).or_insert(Value::Null), value);
        }
    }
}

/// Removes what a manager applied before and no longer does.
fn remove_unapplied(target: &mut Value, before: &Value, now: &Value) {
    match (before, now) {
        (Value::Object(before), Value::Object(now)) => {
            let Some(target) = target.as_object_mut() else { return };
            for (key, value) in before {
                match (now.get(key), target.get_mut(key)) {
                    (None, _) => drop(target.remove(key)),
                    (Some(now), Some(target)) => remove_unapplied(target, value, now),
                    (Some(_), None) => {}
                }
            }
        }
        (Value::Array(before), Value::Array(now)) => {
            let (Some(key), Some(target)) = (list_key(before), target.as_array_mut()) else { return };
            target.retain(|item| {
                let is = |other: &Value| other[key] == item[key];
                !before.iter().any(is) || now.iter().any(is)
            });
        }
        _ => {}
    }
}

/// Whether a manager that applied `before` would now change a field that somebody else has set.
fn conflicts(target: &Value, before: Option<&Value>, applied: &Value) -> bool {
    match (target, applied) {
        (Value::Object(target), Value::Object(fields)) => fields.iter().any(|(field, value)| {
            let before = before.and_then(|before| before.get(field));
            target.get(field).is_some_and(|found| conflicts(found, before, value))
        }),
        (Value::Array(found), Value::Array(items)) if list_key(items).is_some() => {
            let key = list_key(items).unwrap();
            items.iter().any(|item| {
                let same = |list: &'_ [Value]| list.iter().find(|other| other[key] == item[key]).cloned();
                let before = before.and_then(Value::as_array).and_then(|before| same(before));
                same(found).is_some_and(|found| conflicts(&found, before.as_ref(), item))
            })
        }
        (found, applied) => found != applied && before != Some(found),
    }
}

/// Merges as server-side apply does: objects by field, lists by name or type of their items, everything else as a whole.
fn apply(target: &mut Value, applied: &Value) {
    match applied {
        Value::Object(fields) => {
            if !target.is_object() {
                *target = json!({});
            }
            for (key, value) in fields {
                apply(target.as_object_mut().unwrap().entry(key).or_insert(Value::Null), value);
            }
        }
        Value::Array(items) if list_key(items).is_some() => {
            let key = list_key(items).unwrap();
            if !target.is_array() {
                *target = json!([]);
            }
            let list = target.as_array_mut().unwrap();
            for item in items {
                match list.iter_mut().find(|found| found[key] == item[key]) {
                    Some(found) => apply(found, item),
                    None => list.push(item.clone()),
                }
            }
        }
        other => *target = other.clone(),
    }
}

/// Returns the field that identifies the items of a list.
fn list_key(items: &[Value]) -> Option<&'static str> {
    ["uid", "name", "type"]
        .into_iter()
        .find(|key| !items.is_empty() && items.iter().all(|item| item[key].is_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apply_removes_own_fields_that_are_missing_and_keeps_those_of_others() {
        let list = |names: &[&str]| names.iter().map(|name| json!({"name": name})).collect::<Value>();
        let mut target = json!({"a": 1, "b": {"c": 2, "other": 3}, "list": list(&["x", "y", "z"])});
        let before = json!({"a": 1, "b": {"c": 2}, "list": list(&["x", "y"])});
        remove_unapplied(&mut target, &before, &json!({"b": {}, "list": list(&["y"])}));
        assert_eq!(target, json!({"b": {"other": 3}, "list": list(&["y", "z"])}));
    }

    /// How many workers there are.
    #[derive(
        kube::CustomResource, Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
    )]
    #[kube(group = "example.com", version = "v1", kind = "Pool", namespaced, status = "Workers")]
    #[kube(scale(spec_replicas_path = ".spec.pool.workers", status_replicas_path = ".status.workers"))]
    struct PoolSpec {
        #[serde(default)]
        pool: Workers,
    }
    #[derive(Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
    #[serde(default)]
    struct Workers {
        workers: u32,
        zone: Option<String>,
    }
    impl Default for Workers {
        fn default() -> Self {
            Self { workers: 2, zone: None }
        }
    }

    #[tokio::test]
    async fn users_change_objects_with_the_words_of_kubectl_and_get_the_defaults_of_the_schema() {
        let (api, client) = MockApi::start();
        api.put("pools", json!({"metadata": {"name": "early"}, "spec": {}}));
        let identity = crate::testing::sample::IDENTITY;
        let operator = Operator::new(identity).crd(crate::crd::Crd::new::<Pool>());
        api.allow(&operator.allow(Rule::new("example.com", "pools", &["create", "patch"], "the test")));
        let workers = |name: &str| api.get("pools", name).unwrap()["spec"]["pool"]["workers"].clone();
        assert_eq!(workers("early"), 2);
        let pools: kube::Api<kube::core::DynamicObject> =
            kube::Api::default_namespaced_with(client, &kube::core::ApiResource::erase::<Pool>(&()));
        let object =
            json!({"apiVersion": "example.com/v1", "kind": "Pool", "metadata": {"name": "a"}, "spec": {}});
        let object = serde_json::from_value(object).unwrap();
        let created = pools.create(&kube::api::PostParams::default(), &object).await.unwrap();
        assert_eq!(created.data["spec"], json!({"pool": {"workers": 2}}));
        // What is unset gets its default again, which is no change.
        let patch = kube::api::Patch::Merge(json!({"spec": {"pool": {"workers": null}}}));
        let same = pools.patch("a", &kube::api::PatchParams::default(), &patch).await.unwrap();
        assert_eq!(same.metadata.resource_version, created.metadata.resource_version);

        api.scale("pools", "a", 5);
        api.label("pools", "a", "team", Some("one"));
        api.annotate("pools", "a", "note", Some("two"));
        let object = api.get("pools", "a").unwrap();
        let metadata = &object["metadata"];
        assert_eq!(workers("a"), 5);
        assert_eq!(
            [&metadata["labels"], &metadata["annotations"]],
            [&json!({"team": "one"}), &json!({"note": "two"})]
        );
        assert_eq!(metadata["generation"], 2, "metadata does not count");
        api.label("pools", "a", "team", None);
        api.annotate("pools", "a", "note", None);
        let object = api.get("pools", "a").unwrap();
        assert_eq!(
            [&object["metadata"]["labels"], &object["metadata"]["annotations"]],
            [&json!({}), &json!({})]
        );
        api.put("deployments", json!({"metadata": {"name": "a"}, "spec": {}}));
        api.scale("deployments", "a", 3);
        assert_eq!(api.get("deployments", "a").unwrap()["spec"]["replicas"], 3);
    }

    #[tokio::test(start_paused = true)]
    async fn swallowed_requests_are_as_many_as_the_test_says() {
        let timeout = Duration::from_secs(1);
        let (api, client) = MockApi::start_with(MockOptions { timeout, ..MockOptions::default() });
        let first: fn(&mut MockStore) = |store| {
            let seen = store.all("configmaps").count();
            store.put("configmaps", json!({"metadata": {"name": format!("seen-{seen}")}}));
        };
        let fault = Fault::new("get", "configmaps", 0, "");
        api.fault(Fault { swallow: true, times: 2, first: Some(first), ..fault });
        let configs: kube::Api<k8s_openapi::api::core::v1::ConfigMap> = kube::Api::default_namespaced(client);
        let mut answers = Vec::new();
        for _ in 0..3 {
            answers.push(configs.get("seen-1").await.is_ok());
        }
        assert_eq!(answers, [false, false, true], "{:?}", api.calls());
    }

    #[tokio::test]
    async fn apply_conflicts_with_fields_of_others_and_with_another_version() {
        let (api, client) = MockApi::start();
        let config = |value: Value| {
            api.put("configmaps", json!({"metadata": {"name": "a"}, "data": {"theirs": "1", "both": value}}));
        };
        let configs: kube::Api<k8s_openapi::api::core::v1::ConfigMap> = kube::Api::default_namespaced(client);
        let apply = async |mut object: Value, force: bool| {
            object["apiVersion"] = json!("v1");
            object["kind"] = json!("ConfigMap");
            let params = kube::api::PatchParams { force, ..kube::api::PatchParams::apply("me") };
            match configs.patch("a", &params, &kube::api::Patch::Apply(&object)).await {
                Ok(_) => 200,
                Err(kube::Error::Api(status)) => status.code,
                Err(error) => panic!("{error}"),
            }
        };
        config(json!("1"));
        let data = |data: Value| json!({"metadata": {"name": "a"}, "data": data});
        assert_eq!(apply(data(json!({"mine": "1", "both": "1"})), false).await, 200, "other or equal fields");
        assert_eq!(apply(data(json!({"mine": "2", "both": "2"})), false).await, 200, "its own fields");
        api.change("configmaps", "a", |config| config["data"]["both"] = json!("3"));
        assert_eq!(apply(data(json!({"mine": "2", "both": "2"})), false).await, 409);
        assert_eq!(apply(data(json!({"mine": "2", "both": "2"})), true).await, 200);
        let mut old = data(json!({}));
        old["metadata"]["resourceVersion"] = json!("1");
        assert_eq!(apply(old.clone(), true).await, 409);
        api.delete("configmaps", "a");
        assert_eq!(apply(old, true).await, 200, "there is no version to compare with");
        let owned = |uid: &str| {
            let owner = json!({"uid": uid, "name": uid, "controller": true});
            json!({"metadata": {"name": "a", "ownerReferences": [owner]}})
        };
        assert_eq!(apply(owned("x"), true).await, 200);
        api.change("configmaps", "a", |config| {
            config["metadata"]["ownerReferences"][0]["uid"] = json!("another");
        });
        assert_eq!(apply(owned("x"), true).await, 422, "it has a controller");
    }

    #[test]
    fn selectors_select_as_the_api_server_does() {
        let object =
            json!({"metadata": {"name": "a", "labels": {"x": "1", "y": ""}}, "status": {"phase": "Running"}});
        let selects = |name: &str, selector: &str| {
            let query =
                format!("{name}={}", selector.replace(' ', "+").replace('=', "%3D").replace(',', "%2C"));
            Selection::new(&Path::parse("/api/v1/pods"), &query).labelled(&object)
        };
        for selector in
            ["x", "x=1", "x==1", "y", "y=", "x in (1, 2)", "x notin (2),!z", "z!=1", "z notin (1)", "x!=2,y"]
        {
            assert!(selects("labelSelector", selector), "{selector}");
        }
        for selector in ["z", "x=", "x=2", "!x", "x in (2,3)", "x notin (1)", "x,z", "x!=1", "z=1", "z="] {
            assert!(!selects("labelSelector", selector), "{selector}");
        }
        assert!(selects("fieldSelector", "metadata.name=a,status.phase!=Failed,spec.nodeName="));
        assert!(!selects("fieldSelector", "status.phase=Pending"));
    }

    #[test]
    fn watch_reports_a_label_that_is_added_or_removed_as_an_object_that_is() {
        let labelled = |value: &str| json!({"metadata": {"name": "a", "labels": {"k": value}}});
        let selection = Selection { labels: Requirement::parse_all("k=v"), ..Selection::default() };
        let kind = |old: &str, new: &str| {
            let notice = WatchNotice { kind: "MODIFIED", object: labelled(new), old: Some(labelled(old)) };
            let line = notice.to(&selection)?;
            Some(serde_json::from_slice::<Value>(&line).unwrap()["type"].clone())
        };
        assert_eq!(kind("v", "v"), Some(json!("MODIFIED")));
        assert_eq!(kind("v", "w"), Some(json!("DELETED")));
        assert_eq!(kind("w", "v"), Some(json!("ADDED")));
        assert_eq!(kind("w", "w"), None);
    }
}
