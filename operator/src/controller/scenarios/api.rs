//! A small API server for the scenarios: it stores, merges, versions and tells watchers, and it can be told to fail.
//!
//! It answers what the controller asks and refuses the rest, so that a request nobody thought of fails a scenario. Every
//! request is held against the typed rules of [`crate::rbac`].

use crate::rbac::{CLUSTER, WATCHED};
use axum::body::{Body as AnswerBody, Bytes};
use axum::http::{Request, Response, StatusCode};
use futures::stream;
use kube::Client;
use kube::client::{Body, ClientBuilder, retry::RetryPolicy};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::sync::mpsc;
use tower::retry::RetryLayer;
use tower_test::mock;

/// One request, in the words of RBAC.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Call {
    pub(super) verb: String,
    pub(super) group: String,
    /// Plural, with `/subresource`.
    pub(super) resource: String,
    pub(super) name: String,
    pub(super) code: u16,
}

impl Call {
    pub(super) fn is_write(&self) -> bool {
        !matches!(self.verb.as_str(), "list" | "watch" | "get")
    }
}

/// A refusal to come: of how many requests with this verb and resource, and how.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) verb: &'static str,
    pub(super) resource: &'static str,
    pub(super) name: Option<&'static str>,
    pub(super) times: usize,
    pub(super) code: u16,
    pub(super) reason: &'static str,
    pub(super) message: &'static str,
    pub(super) retry_after: Option<u32>,
    /// What happens to the store just before the refusal.
    pub(super) first: Option<fn(&mut Store)>,
}

impl Fault {
    pub(super) fn new(verb: &'static str, resource: &'static str, code: u16, reason: &'static str) -> Self {
        Self {
            verb,
            resource,
            name: None,
            times: 1,
            code,
            reason,
            message: "as the scenario has it",
            retry_after: None,
            first: None,
        }
    }
}

type Key = (String, String, String);

#[derive(Default)]
pub(super) struct Store {
    objects: BTreeMap<Key, Value>,
    version: u64,
    watchers: Vec<Watcher>,
    /// What was told, for watches that begin at an older version.
    history: Vec<(u64, String, Told)>,
    faults: Vec<Fault>,
    calls: Vec<Call>,
    down: bool,
}

struct Watcher {
    resource: String,
    /// Hears only of objects with the operator's label.
    labelled: bool,
    sender: mpsc::UnboundedSender<Bytes>,
}

/// An event as those hear it who watch everything, and those who watch by label.
#[derive(Clone)]
struct Told {
    all: Bytes,
    labelled: Option<Bytes>,
}

impl Told {
    fn to(&self, labelled: bool) -> Option<Bytes> {
        if labelled { self.labelled.clone() } else { Some(self.all.clone()) }
    }
}

/// The server.
#[derive(Clone, Default)]
pub(super) struct Api {
    store: Arc<Mutex<Store>>,
}

impl Api {
    /// A server, and a client that talks to it through the same retries as the real one.
    pub(super) fn start() -> (Self, Client) {
        let (service, mut handle) = mock::pair::<Request<Body>, Response<AnswerBody>>();
        let client = ClientBuilder::new(service, "default")
            .with_layer(&RetryLayer::new(RetryPolicy::server_retry()))
            .build();
        let api = Self::default();
        let serving = api.clone();
        tokio::spawn(async move {
            while let Some((request, reply)) = handle.next_request().await {
                let api = serving.clone();
                tokio::spawn(async move {
                    let (parts, body) = request.into_parts();
                    let body = body.collect_bytes().await.unwrap();
                    reply.send_response(api.store().answer(&parts, &body));
                });
            }
        });
        (api, client)
    }

    pub(super) fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap()
    }

    pub(super) fn get(&self, resource: &str, name: &str) -> Option<Value> {
        self.store().objects.get(&key(resource, name)).cloned()
    }

    /// Puts an object as a user does.
    pub(super) fn put(&self, resource: &str, object: Value) {
        self.store().put(resource, object);
    }

    /// Changes an object as a user, another controller or the garbage collector does.
    pub(super) fn change(&self, resource: &str, name: &str, change: impl FnOnce(&mut Value)) {
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
    pub(super) fn delete(&self, resource: &str, name: &str) {
        self.store().delete(resource, name);
    }

    pub(super) fn fault(&self, fault: Fault) {
        self.store().faults.push(fault);
    }

    pub(super) fn calls(&self) -> Vec<Call> {
        self.store().calls.clone()
    }

    pub(super) fn writes(&self) -> Vec<String> {
        let writes = self.calls().into_iter().filter(|call| call.is_write() && call.code < 300);
        writes
            .filter(|call| call.resource != "events")
            .map(|call| format!("{} {}", call.verb, call.resource))
            .collect()
    }

    /// Breaks every connection and refuses every request until it is called with `false`.
    pub(super) fn down(&self, down: bool) {
        let mut store = self.store();
        store.down = down;
        store.watchers.clear();
    }

    /// Tells every watcher that its version is too old, after doing something that none of them hears of.
    pub(super) fn expire_watches(&self, unheard: impl FnOnce(&mut Store)) {
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

/// Whether a request asks for objects with the operator's label only.
fn selects(query: &str) -> bool {
    query.contains("labelSelector=")
}

fn labelled(object: &Value) -> bool {
    object["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "memcached-operator"
}

fn bump(object: &mut Value) {
    let generation = object["metadata"]["generation"].as_i64().unwrap_or_default();
    object["metadata"]["generation"] = json!(generation + 1);
}

impl Store {
    pub(super) fn put(&mut self, resource: &str, mut object: Value) {
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
        self.tell(resource, kind, &object, old.as_ref());
    }

    pub(super) fn delete(&mut self, resource: &str, name: &str) {
        let Some(mut object) = self.objects.remove(&key(resource, name)) else { return };
        object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        if object["metadata"]["finalizers"].as_array().is_some_and(|list| !list.is_empty()) {
            self.objects.insert(key(resource, name), object.clone());
        }
        self.put(resource, object);
    }

    fn tell(&mut self, resource: &str, kind: &str, object: &Value, old: Option<&Value>) {
        let event = |kind: &str| line(&json!({ "type": kind, "object": object }));
        // Who watches by label hears of a label that comes or goes as of an object that does.
        let seen = match (old.is_some_and(labelled), labelled(object) && kind != "DELETED") {
            (true, true) => Some("MODIFIED"),
            (true, false) => Some("DELETED"),
            (false, true) => Some("ADDED"),
            (false, false) => None,
        };
        let told = Told { all: event(kind), labelled: seen.map(event) };
        self.history.push((self.version, resource.to_owned(), told.clone()));
        self.watchers.retain(|watcher| {
            watcher.resource != resource
                || told.to(watcher.labelled).is_none_or(|event| watcher.sender.send(event).is_ok())
        });
    }

    fn answer(&mut self, parts: &axum::http::request::Parts, body: &[u8]) -> Response<AnswerBody> {
        let path = Path::parse(parts.uri.path());
        let query = parts.uri.query().unwrap_or_default();
        let verb = match (parts.method.as_str(), path.name.is_empty()) {
            ("GET", true) if query.contains("watch=true") => "watch",
            ("GET", true) => "list",
            ("GET", false) => "get",
            ("PATCH", _) => "patch",
            ("POST", _) => "create",
            ("DELETE", _) => "delete",
            other => panic!("{other:?}"),
        };
        let answer = self.respond(verb, &path, query, body);
        self.calls.push(Call {
            verb: verb.to_owned(),
            group: path.group.clone(),
            resource: path.resource.clone(),
            name: path.name.clone(),
            code: answer.status().as_u16(),
        });
        answer
    }

    fn respond(&mut self, verb: &str, path: &Path, query: &str, body: &[u8]) -> Response<AnswerBody> {
        if self.down {
            return refusal(500, "InternalError", "the API server is away", None);
        }
        assert!(allowed(verb, &path.group, &path.resource), "no rule allows {verb} {}", path.resource);
        let fault = self.faults.iter().position(|fault| {
            fault.verb == verb
                && fault.resource == path.resource
                && fault.name.is_none_or(|name| name == path.name)
        });
        if let Some(index) = fault {
            self.faults[index].times -= 1;
            let fault = self.faults[index].clone();
            if fault.times == 0 {
                self.faults.remove(index);
            }
            if let Some(first) = fault.first {
                first(self);
            }
            return refusal(fault.code, fault.reason, fault.message, fault.retry_after);
        }
        let (resource, subresource) = path.resource.split_once('/').unwrap_or((&path.resource, ""));
        match verb {
            "list" => {
                let items: Vec<&Value> = self
                    .objects
                    .iter()
                    .filter(|((found, ..), object)| {
                        found == resource && (!selects(query) || labelled(object))
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
                for (_, _, told) in self.history.iter().filter(|(version, told, _)| {
                    told == resource && since.is_some_and(|since| *version > since)
                }) {
                    let _ = told.to(labelled).map(|event| sender.send(event));
                }
                self.watchers.push(Watcher { resource: resource.to_owned(), labelled, sender });
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
                self.put(resource, object.clone());
                ok(&object)
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
        let applying = query.contains("fieldManager=memcached-operator") && patch.get("apiVersion").is_some();
        let mut new = match (&old, applying) {
            (Some(old), _) => old.clone(),
            (None, true) => json!({}),
            (None, false) => return not_found(),
        };
        if applying {
            let ours = |object: &Value| object["metadata"]["ownerReferences"][0]["uid"].clone();
            if !query.contains("force=true") && old.as_ref().is_some_and(|old| ours(old) != ours(&patch)) {
                return refusal(409, "Conflict", "another manager holds these fields", None);
            }
            apply(&mut new, &patch);
        } else {
            let version = &patch["metadata"]["resourceVersion"];
            if version.is_string() && *version != new["metadata"]["resourceVersion"] {
                return refusal(409, "Conflict", "the object has been modified", None);
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

/// Whether a rule allows a request.
fn allowed(verb: &str, group: &str, resource: &str) -> bool {
    WATCHED
        .iter()
        .chain(CLUSTER)
        .any(|rule| rule.group == group && rule.resource == resource && rule.verbs.contains(&verb))
}

/// The rules that show as requests and that none of these calls used.
pub(super) fn unused(calls: &[Call]) -> BTreeSet<String> {
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
    refusal(404, "NotFound", "there is no such object", None)
}

fn refusal(code: u16, reason: &str, message: &str, retry_after: Option<u32>) -> Response<AnswerBody> {
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

/// As server-side apply merges: objects by field, lists of named items by name, everything else as a whole.
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
        Value::Array(items) if !items.is_empty() && items.iter().all(|item| item["name"].is_string()) => {
            if !target.is_array() {
                *target = json!([]);
            }
            let list = target.as_array_mut().unwrap();
            for item in items {
                match list.iter_mut().find(|found| found["name"] == item["name"]) {
                    Some(found) => apply(found, item),
                    None => list.push(item.clone()),
                }
            }
        }
        other => *target = other.clone(),
    }
}

impl Store {
    /// All objects of a resource.
    pub(super) fn all<'a>(&'a self, resource: &'a str) -> impl Iterator<Item = &'a Value> {
        self.objects.iter().filter(move |((found, ..), _)| found == resource).map(|(_, object)| object)
    }

    /// Changes an object and tells the watchers.
    pub(super) fn edit(&mut self, resource: &str, name: &str, change: impl FnOnce(&mut Value)) {
        let mut object = self.objects[&key(resource, name)].clone();
        change(&mut object);
        self.put(resource, object);
    }

    /// Removes an object whatever its finalizers say.
    pub(super) fn drop_object(&mut self, resource: &str, name: &str) {
        if let Some(object) = self.objects.remove(&key(resource, name)) {
            self.version += 1;
            self.tell(resource, "DELETED", &object, Some(&object));
        }
    }
}
