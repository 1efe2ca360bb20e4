//! A mock API server: it stores, merges and versions objects, notifies watches, and fails on request.
//!
//! It implements the requests that the operator makes and panics on others, so that an unforeseen request fails a test.
//! Every request is checked against the typed rules of [`crate::rbac`].

use crate::manager::requests::LimitRequests;
use crate::rbac::{CLUSTER, OWN, WATCHED};
use axum::body::{Body as AnswerBody, Bytes};
use axum::http::{Request, Response, StatusCode};
use futures::stream;
use kube::Client;
use kube::client::{Body, ClientBuilder, retry::RetryPolicy};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::mpsc;
use tower::retry::RetryLayer;
use tower_test::mock;

/// One request, in the terms of RBAC.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Call {
    pub(crate) verb: String,
    pub(crate) group: String,
    /// Plural, with `/subresource`.
    pub(crate) resource: String,
    pub(crate) name: String,
    pub(crate) code: u16,
}

impl Call {
    pub(crate) fn is_write(&self) -> bool {
        !matches!(self.verb.as_str(), "list" | "watch" | "get")
    }
}

/// Failures to come: of how many requests with this verb and resource, and how.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) verb: &'static str,
    pub(crate) resource: &'static str,
    pub(crate) name: Option<&'static str>,
    pub(crate) times: usize,
    pub(crate) code: u16,
    pub(crate) reason: &'static str,
    pub(crate) message: &'static str,
    pub(crate) retry_after: Option<u32>,
    /// What happens to the store just before the failure.
    pub(crate) first: Option<fn(&mut Store)>,
    /// There is no response at all.
    pub(crate) swallow: bool,
}

impl Fault {
    pub(crate) fn new(verb: &'static str, resource: &'static str, code: u16, reason: &'static str) -> Self {
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
}

/// Resource, namespace and name.
pub(crate) type Key = (String, String, String);

impl Fault {
    fn hits(&self, verb: &str, path: &Path) -> bool {
        self.verb == verb && self.resource == path.resource && self.name.is_none_or(|name| name == path.name)
    }
}

#[derive(Default)]
pub(crate) struct Store {
    objects: BTreeMap<Key, Value>,
    version: u64,
    watchers: Vec<Watcher>,
    /// Past events, for watches that begin at an older version.
    history: Vec<(u64, String, Notice)>,
    faults: Vec<Fault>,
    calls: Vec<Call>,
    down: bool,
}

struct Watcher {
    resource: String,
    /// Receives only objects with the operator's label.
    labelled: bool,
    /// Receives only the object with this name.
    name: Option<String>,
    sender: mpsc::UnboundedSender<Bytes>,
}

/// An event as watches without and with a label selector receive it.
#[derive(Clone)]
struct Notice {
    name: String,
    all: Bytes,
    labelled: Option<Bytes>,
}

impl Notice {
    fn to(&self, labelled: bool, name: Option<&str>) -> Option<Bytes> {
        if name.is_some_and(|name| name != self.name) {
            return None;
        }
        if labelled { self.labelled.clone() } else { Some(self.all.clone()) }
    }
}

/// The server.
#[derive(Clone, Default)]
pub(crate) struct MockApi {
    store: Arc<Mutex<Store>>,
}

impl MockApi {
    /// Starts a server, and returns a client of it with the same retries and limits as the real one.
    pub(crate) fn start() -> (Self, Client) {
        Self::start_with(Duration::from_secs(30))
    }

    /// Starts a server; requests of its client time out after `timeout`.
    pub(crate) fn start_with(timeout: Duration) -> (Self, Client) {
        let (service, mut handle) = mock::pair::<Request<Body>, Response<AnswerBody>>();
        let client = ClientBuilder::new(service, "default")
            .with_layer(&RetryLayer::new(RetryPolicy::server_retry()))
            .with_layer(&LimitRequests::new(timeout))
            .build();
        let api = Self::default();
        let serving = api.clone();
        tokio::spawn(async move {
            while let Some((request, reply)) = handle.next_request().await {
                let api = serving.clone();
                tokio::spawn(async move {
                    let (parts, body) = request.into_parts();
                    let body = body.collect_bytes().await.unwrap();
                    let response = api.store().answer(&parts, &body);
                    match response {
                        Some(response) => reply.send_response(response),
                        // The connection stays open.
                        None => std::future::pending().await,
                    }
                });
            }
        });
        (api, client)
    }

    pub(crate) fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap()
    }

    pub(crate) fn get(&self, resource: &str, name: &str) -> Option<Value> {
        self.store().objects.get(&key(resource, name)).cloned()
    }

    /// Puts an object as a user does.
    pub(crate) fn put(&self, resource: &str, object: Value) {
        self.store().put(resource, object);
    }

    /// Changes an object as a user, another controller or the garbage collector does.
    pub(crate) fn change(&self, resource: &str, name: &str, change: impl FnOnce(&mut Value)) {
        let mut store = self.store();
        let mut object = store.objects[&key(resource, name)].clone();
        let spec = object["spec"].clone();
        change(&mut object);
        if object["spec"] != spec {
            bump(&mut object);
        }
        store.put(resource, object);
    }

    /// Deletes an object as a user does: what has finalizers only gets its timestamp.
    pub(crate) fn delete(&self, resource: &str, name: &str) {
        self.store().delete(resource, name);
    }

    pub(crate) fn fault(&self, fault: Fault) {
        self.store().faults.push(fault);
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        self.store().calls.clone()
    }

    pub(crate) fn writes(&self) -> Vec<String> {
        let writes = self.calls().into_iter().filter(|call| call.is_write() && call.code < 300);
        writes
            .filter(|call| call.resource != "events")
            .map(|call| format!("{} {}", call.verb, call.resource))
            .collect()
    }

    /// Forgets past requests and events, so that a long test needs little memory.
    pub(crate) fn truncate(&self) {
        let mut store = self.store();
        store.calls.clear();
        store.history.clear();
    }

    /// Changes an object as a user does, but no watch reports it.
    pub(crate) fn change_unnoticed(&self, resource: &str, name: &str, change: impl FnOnce(&mut Value)) {
        let watchers = std::mem::take(&mut self.store().watchers);
        self.change(resource, name, change);
        let mut store = self.store();
        store.history.pop();
        store.watchers = watchers;
    }

    /// Returns a backup of everything that is stored.
    pub(crate) fn backup(&self) -> (BTreeMap<Key, Value>, u64) {
        let store = self.store();
        (store.objects.clone(), store.version)
    }

    /// Restores a backup, as with etcd: versions go back, and all watches have to list again.
    pub(crate) fn restore(&self, (objects, version): (BTreeMap<Key, Value>, u64)) {
        self.expire_watches(|store| {
            store.objects = objects;
            store.version = version;
        });
    }

    /// Breaks every connection and fails every request until it is called with `false`.
    pub(crate) fn down(&self, down: bool) {
        let mut store = self.store();
        store.down = down;
        store.watchers.clear();
    }

    /// Ends every watch because its version is too old, after a change that no watch reports.
    pub(crate) fn expire_watches(&self, unheard: impl FnOnce(&mut Store)) {
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

fn key(resource: &str, name: &str) -> Key {
    (resource.to_owned(), "ns".to_owned(), name.to_owned())
}

fn line(value: &Value) -> Bytes {
    Bytes::from(format!("{value}\n"))
}

/// Returns whether a request selects objects by the operator's label.
fn selects(query: &str) -> bool {
    query.contains("labelSelector=")
}

/// Returns the name that a field selector asks for.
fn name_selector(query: &str) -> Option<String> {
    let value = query.split('&').find_map(|pair| pair.strip_prefix("fieldSelector="))?;
    value.strip_prefix("metadata.name%3D").or(value.strip_prefix("metadata.name=")).map(ToOwned::to_owned)
}

fn labelled(object: &Value) -> bool {
    object["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "memcached-operator"
}

fn bump(object: &mut Value) {
    let generation = object["metadata"]["generation"].as_i64().unwrap_or_default();
    object["metadata"]["generation"] = json!(generation + 1);
}

impl Store {
    pub(crate) fn put(&mut self, resource: &str, mut object: Value) {
        self.version += 1;
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        let metadata = object["metadata"].as_object_mut().unwrap();
        metadata.insert("resourceVersion".into(), json!(self.version.to_string()));
        metadata.entry("namespace").or_insert_with(|| json!("ns"));
        metadata.entry("generation").or_insert_with(|| json!(1));
        let uid = json!(format!("uid-{}", self.version));
        metadata.entry("uid").or_insert(uid);
        let gone = object["metadata"]["deletionTimestamp"].is_string()
            && object["metadata"]["finalizers"].as_array().is_none_or(Vec::is_empty);
        let old = if gone {
            self.objects.remove(&key(resource, &name)).or_else(|| Some(object.clone()))
        } else {
            self.objects.insert(key(resource, &name), object.clone())
        };
        let kind = match (&old, gone) {
            (_, true) => "DELETED",
            (Some(_), false) => "MODIFIED",
            (None, false) => "ADDED",
        };
        self.notify(resource, kind, &object, old.as_ref());
    }

    pub(crate) fn delete(&mut self, resource: &str, name: &str) {
        let Some(mut object) = self.objects.remove(&key(resource, name)) else { return };
        object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        if object["metadata"]["finalizers"].as_array().is_some_and(|list| !list.is_empty()) {
            self.objects.insert(key(resource, name), object.clone());
        }
        self.put(resource, object);
    }

    fn notify(&mut self, resource: &str, kind: &str, object: &Value, old: Option<&Value>) {
        let event = |kind: &str| line(&json!({ "type": kind, "object": object }));
        // A watch with a label selector reports a label that is added or removed as an object that is.
        let seen = match (old.is_some_and(labelled), labelled(object) && kind != "DELETED") {
            (true, true) => Some("MODIFIED"),
            (true, false) => Some("DELETED"),
            (false, true) => Some("ADDED"),
            (false, false) => None,
        };
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let notice = Notice { name, all: event(kind), labelled: seen.map(event) };
        self.history.push((self.version, resource.to_owned(), notice.clone()));
        self.watchers.retain(|watcher| {
            let event = notice.to(watcher.labelled, watcher.name.as_deref());
            watcher.resource != resource || event.is_none_or(|event| watcher.sender.send(event).is_ok())
        });
    }

    /// Returns the response; `None` if there is none.
    fn answer(&mut self, parts: &axum::http::request::Parts, body: &[u8]) -> Option<Response<AnswerBody>> {
        let path = Path::parse(parts.uri.path());
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
        let swallowed = self.faults.iter().position(|fault| fault.swallow && fault.hits(verb, &path));
        if let Some(index) = swallowed {
            self.faults.remove(index);
            self.calls.push(Call {
                verb: verb.to_owned(),
                group: path.group.clone(),
                resource: path.resource.clone(),
                name: path.name.clone(),
                code: 0,
            });
            return None;
        }
        let answer = self.respond(verb, &path, query, body);
        self.calls.push(Call {
            verb: verb.to_owned(),
            group: path.group.clone(),
            resource: path.resource.clone(),
            name: path.name.clone(),
            code: answer.status().as_u16(),
        });
        Some(answer)
    }

    fn respond(&mut self, verb: &str, path: &Path, query: &str, body: &[u8]) -> Response<AnswerBody> {
        if self.down {
            return failure(500, "InternalError", "the API server is away", None);
        }
        assert!(allowed(verb, &path.group, &path.resource), "no rule allows {verb} {}", path.resource);
        let fault = self.faults.iter().position(|fault| fault.hits(verb, path));
        if let Some(index) = fault {
            self.faults[index].times -= 1;
            let fault = self.faults[index].clone();
            if fault.times == 0 {
                self.faults.remove(index);
            }
            if let Some(first) = fault.first {
                first(self);
            }
            return failure(fault.code, fault.reason, fault.message, fault.retry_after);
        }
        let named = name_selector(query);
        let (resource, subresource) = path.resource.split_once('/').unwrap_or((&path.resource, ""));
        match verb {
            "list" => {
                let items: Vec<&Value> = self
                    .objects
                    .iter()
                    .filter(|((found, _, name), object)| {
                        found == resource
                            && (!selects(query) || labelled(object))
                            && named.as_ref().is_none_or(|named| named == name)
                    })
                    .map(|(_, o)| o)
                    .collect();
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
                let labelled = selects(query);
                for (_, _, notice) in self.history.iter().filter(|(version, changed, _)| {
                    changed == resource && since.is_some_and(|since| *version > since)
                }) {
                    let _ = notice.to(labelled, named.as_deref()).map(|event| sender.send(event));
                }
                let watcher = Watcher { resource: resource.to_owned(), labelled, name: named, sender };
                self.watchers.push(watcher);
                let lines = stream::unfold(receiver, |mut receiver| async move {
                    receiver.recv().await.map(|line| (Ok::<_, Infallible>(line), receiver))
                });
                Response::new(AnswerBody::from_stream(lines))
            }
            "get" => match self.objects.get(&key(resource, &path.name)) {
                Some(object) => ok(object),
                None => not_found(),
            },
            "create" => {
                let object: Value = serde_json::from_slice(body).unwrap();
                let name = object["metadata"]["name"].as_str().unwrap().to_owned();
                if self.objects.contains_key(&key(resource, &name)) {
                    return failure(409, "AlreadyExists", "the object exists already", None);
                }
                self.put(resource, object);
                ok(&self.objects[&key(resource, &name)])
            }
            "update" => {
                let mut object: Value = serde_json::from_slice(body).unwrap();
                let Some(old) = self.objects.get(&key(resource, &path.name)) else { return not_found() };
                if object["metadata"]["resourceVersion"] != old["metadata"]["resourceVersion"] {
                    return failure(409, "Conflict", "the object has been modified", None);
                }
                object["metadata"]["uid"] = old["metadata"]["uid"].clone();
                self.put(resource, object);
                ok(&self.objects[&key(resource, &path.name)])
            }
            "delete" => {
                self.delete(resource, &path.name);
                ok(&json!({"kind": "Status", "status": "Success"}))
            }
            _ => self.patch(resource, subresource, path, query, body),
        }
    }

    fn patch(
        &mut self,
        resource: &str,
        subresource: &str,
        asked: &Path,
        query: &str,
        body: &[u8],
    ) -> Response<AnswerBody> {
        let patch: Value = serde_json::from_slice(body).unwrap();
        let old = self.objects.get(&key(resource, &asked.name)).cloned();
        let applying = query.contains("fieldManager=") && patch.get("apiVersion").is_some();
        let mut new = match (&old, applying) {
            (Some(old), _) => old.clone(),
            (None, true) if subresource.is_empty() => json!({}),
            (None, _) => return not_found(),
        };
        if applying {
            let ours = |object: &Value| object["metadata"]["ownerReferences"][0]["uid"].clone();
            if !query.contains("force=true") && old.as_ref().is_some_and(|old| ours(old) != ours(&patch)) {
                return failure(409, "Conflict", "another manager holds these fields", None);
            }
            let part = if subresource == "status" { json!({ "status": patch["status"] }) } else { patch };
            apply(&mut new, &part);
        } else {
            let version = &patch["metadata"]["resourceVersion"];
            if version.is_string() && *version != new["metadata"]["resourceVersion"] {
                return failure(409, "Conflict", "the object has been modified", None);
            }
            let part = if subresource == "status" { json!({ "status": patch["status"] }) } else { patch };
            merge(&mut new, &part);
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
        let mut answer = ok(self.objects.get(&key(resource, &asked.name)).unwrap_or(&new));
        if old.is_none() {
            *answer.status_mut() = StatusCode::CREATED;
        }
        answer
    }
}

struct Path {
    group: String,
    resource: String,
    name: String,
}

impl Path {
    /// Takes `/apis/GROUP/VERSION/[namespaces/NS/]PLURAL[/NAME[/SUBRESOURCE]]` apart.
    fn parse(path: &str) -> Self {
        let mut parts = path.trim_matches('/').split('/').collect::<Vec<_>>().into_iter();
        let group = if parts.next() == Some("api") { "" } else { parts.next().unwrap() };
        let mut rest = parts.skip(1).collect::<Vec<_>>();
        if rest[0] == "namespaces" && rest.len() > 2 {
            rest.drain(..2);
        }
        let resource = match rest.get(2) {
            Some(subresource) => format!("{}/{subresource}", rest[0]),
            None => rest[0].to_owned(),
        };
        let name = rest.get(1).copied().unwrap_or_default().to_owned();
        Self { group: group.to_owned(), resource, name }
    }
}

/// Returns whether a rule allows a request.
fn allowed(verb: &str, group: &str, resource: &str) -> bool {
    WATCHED
        .iter()
        .chain(CLUSTER)
        .chain(OWN)
        .any(|rule| rule.group == group && rule.resource == resource && rule.verbs.contains(&verb))
}

/// Returns the rules that are used by requests, but by none of these.
pub(crate) fn unused(calls: &[Call]) -> BTreeSet<String> {
    let rules = WATCHED.iter().filter(|rule| rule.shows == crate::rbac::Use::Request);
    let wanted = rules.flat_map(|rule| rule.verbs.iter().map(move |verb| (rule, *verb)));
    wanted
        .filter(|(rule, verb)| {
            !calls.iter().any(|c| c.verb == *verb && c.group == rule.group && c.resource == rule.resource)
        })
        .map(|(rule, verb)| format!("{verb} {}", rule.resource))
        .collect()
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

/// Merges as server-side apply does: objects by field, lists by name or type of their items, everything else as a whole.
///
/// Nothing is removed: what the operator applies names all its fields.
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
    ["name", "type"]
        .into_iter()
        .find(|key| !items.is_empty() && items.iter().all(|item| item[key].is_string()))
}

impl Store {
    /// Returns all objects of a resource.
    pub(crate) fn all<'a>(&'a self, resource: &'a str) -> impl Iterator<Item = &'a Value> {
        self.objects.iter().filter(move |((found, ..), _)| found == resource).map(|(_, object)| object)
    }

    /// Changes an object and notifies the watches.
    pub(crate) fn edit(&mut self, resource: &str, name: &str, change: impl FnOnce(&mut Value)) {
        let mut object = self.objects[&key(resource, name)].clone();
        change(&mut object);
        self.put(resource, object);
    }

    /// Removes all objects of a resource; no watch reports it.
    pub(crate) fn drop_all(&mut self, resource: &str) {
        self.objects.retain(|(found, ..), _| found != resource);
    }

    /// Removes an object whatever its finalizers are.
    pub(crate) fn drop_object(&mut self, resource: &str, name: &str) {
        if let Some(object) = self.objects.remove(&key(resource, name)) {
            self.version += 1;
            self.notify(resource, "DELETED", &object, Some(&object));
        }
    }
}
