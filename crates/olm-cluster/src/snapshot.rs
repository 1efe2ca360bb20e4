//! Objects that were observed at one time, from a cluster or from files.

use std::collections::BTreeMap;

use serde_json::Value;

use super::kinds::Kind;

/// The objects that were observed, by kind.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    objects: BTreeMap<&'static str, Vec<Value>>,
    /// Kinds that could not be read, or not completely, with the reason.
    pub unreadable: BTreeMap<&'static str, String>,
}

impl Snapshot {
    /// Adds the objects of a list; their items need not have a kind.
    pub fn extend(&mut self, kind: Kind, objects: impl IntoIterator<Item = Value>) {
        self.objects.entry(kind.kind).or_default().extend(objects);
    }

    /// Adds what another snapshot has: its objects, and what could not be read for it.
    pub fn merge(&mut self, other: Self) {
        for (kind, objects) in other.objects {
            self.objects.entry(kind).or_default().extend(objects);
        }
        self.unreadable.extend(other.unreadable);
        self.deduplicate();
    }

    /// Adds an object of a known kind, or the items of a list; returns how many objects were added.
    pub fn add(&mut self, object: Value) -> usize {
        if let Some(kind) = Kind::of_object(&object) {
            self.extend(kind, [object]);
            return 1;
        }
        match object {
            Value::Object(mut list) => match list.remove("items") {
                Some(Value::Array(items)) => items.into_iter().map(|item| self.add(item)).sum(),
                _ => 0,
            },
            _ => 0,
        }
    }

    /// Returns the objects of a kind.
    #[must_use]
    pub fn objects(&self, kind: Kind) -> &[Value] {
        self.objects.get(kind.kind).map_or(&[], Vec::as_slice)
    }

    /// Returns the objects of a kind in a namespace.
    pub fn within<'s>(&'s self, kind: Kind, namespace: &str) -> impl Iterator<Item = &'s Value> {
        self.objects(kind).iter().filter(move |object| namespace_of(object) == namespace)
    }

    /// Returns an object.
    #[must_use]
    pub fn get(&self, kind: Kind, namespace: &str, name: &str) -> Option<&Value> {
        self.objects(kind)
            .iter()
            .find(|object| name_of(object) == name && (!kind.namespaced || namespace_of(object) == namespace))
    }

    /// Removes what was observed more than once.
    pub fn deduplicate(&mut self) {
        for objects in self.objects.values_mut() {
            let mut seen = std::collections::BTreeSet::new();
            objects
                .retain(|object| seen.insert((namespace_of(object).to_owned(), name_of(object).to_owned())));
        }
    }

    /// Returns why one of these kinds could not be read.
    #[must_use]
    pub fn unread(&self, kinds: &[Kind]) -> Option<&str> {
        kinds.iter().find_map(|kind| self.unreadable.get(kind.kind)).map(String::as_str)
    }

    /// Returns the number of objects.
    #[must_use]
    pub fn len(&self) -> usize {
        self.objects.values().map(Vec::len).sum()
    }

    /// Returns whether an object is one of a cluster, and no manifest.
    #[must_use]
    pub fn is_observed(&self) -> bool {
        let is_of_cluster =
            |object: &Value| object["metadata"]["uid"].is_string() || object["status"].is_object();
        self.objects.values().flatten().any(is_of_cluster)
    }

    /// Returns whether there is no object.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the events about an object.
    pub fn events<'s>(&'s self, kind: Kind, object: &Value) -> impl Iterator<Item = &'s Value> {
        self.objects(super::kinds::EVENT).iter().filter(move |event| {
            let about = &event["involvedObject"];
            about["kind"] == kind.kind
                && string(about, "/name") == name_of(object)
                && string(about, "/namespace") == namespace_of(object)
                && (string(about, "/uid").is_empty()
                    || string(about, "/uid") == string(object, "/metadata/uid"))
        })
    }
}

/// Returns the string at a JSON pointer; empty if there is none.
#[must_use]
pub fn string<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the number at a JSON pointer; 0 if there is none.
#[must_use]
pub fn number(value: &Value, pointer: &str) -> i64 {
    value.pointer(pointer).and_then(Value::as_i64).unwrap_or_default()
}

/// Returns the list at a JSON pointer; empty if there is none.
#[must_use]
pub fn list<'v>(value: &'v Value, pointer: &str) -> &'v [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Returns the strings of the list at a JSON pointer.
pub fn strings<'v>(value: &'v Value, pointer: &str) -> impl Iterator<Item = &'v str> {
    list(value, pointer).iter().filter_map(Value::as_str)
}

/// Returns `metadata.name`.
#[must_use]
pub fn name_of(object: &Value) -> &str {
    string(object, "/metadata/name")
}

/// Returns `metadata.namespace`.
#[must_use]
pub(crate) fn namespace_of(object: &Value) -> &str {
    string(object, "/metadata/namespace")
}

/// Returns a label; empty if there is none.
#[must_use]
pub fn label<'v>(object: &'v Value, key: &str) -> &'v str {
    object["metadata"]["labels"][key].as_str().unwrap_or_default()
}

/// Returns the condition of a type, if its status is `status`.
#[must_use]
pub fn condition<'v>(object: &'v Value, kind: &str, status: &str) -> Option<&'v Value> {
    list(object, "/status/conditions")
        .iter()
        .find(|condition| condition["type"] == kind && condition["status"] == status)
}
