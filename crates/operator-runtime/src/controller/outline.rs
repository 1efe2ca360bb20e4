//! Compares live objects with what the controller applied, without keeping either.
//!
//! A [`Shape`] lists the fields that the controller sets on a kind, taken once from an object with everything set. The
//! digest of an object through its shape covers only those fields: injected containers, foreign labels and the API
//! server's defaults do not change it, any change to an applied field does. Digests are compared, so an entry of a table is a
//! few bytes instead of an object.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Fields that are compared separately (metadata), that identify the kind, or that others write.
const NO_CONTENT: [&str; 4] = ["apiVersion", "kind", "metadata", "status"];

/// What the controller applies to one kind: labels, annotations, and every field beside metadata and status. Names and
/// owners are compared separately.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outline {
    labels: BTreeSet<String>,
    annotations: BTreeSet<String>,
    content: Shape,
}

impl Outline {
    /// Returns the outline of an object that has everything set.
    pub(crate) fn from_example(body: &Value) -> Self {
        let keys = |field: &str| {
            let map = body["metadata"][field].as_object().into_iter().flatten();
            map.map(|(key, _)| key.clone()).collect()
        };
        Self {
            labels: keys("labels"),
            annotations: keys("annotations"),
            content: Shape::from_value(&Value::Object(content_of(body))),
        }
    }

    /// Returns the outline of everything that either of two covers.
    pub(crate) fn union(mut self, other: Self) -> Self {
        self.labels.extend(other.labels);
        self.annotations.extend(other.annotations);
        Self { content: self.content.union(other.content), ..self }
    }

    /// Returns whether every field of an object is covered.
    pub(crate) fn covers(&self, body: &Value) -> bool {
        let Self { labels, annotations, content } = Self::from_example(body);
        labels.is_subset(&self.labels)
            && annotations.is_subset(&self.annotations)
            && self.content.covers(&content)
    }

    /// Returns the digest of an object to apply.
    pub(crate) fn digest_of(&self, body: &Value) -> u64 {
        let map = |field: &str| -> Option<BTreeMap<String, String>> {
            serde_json::from_value(body["metadata"][field].clone()).ok()
        };
        let metadata =
            ObjectMeta { labels: map("labels"), annotations: map("annotations"), ..ObjectMeta::default() };
        self.digest(&metadata, self.content.digest(&Value::Object(content_of(body))))
    }

    /// Returns the digest of the content of an object's JSON, the expensive half of [`Outline::digest`].
    pub(crate) fn content_digest(&self, text: &str) -> u64 {
        // It was part of a valid JSON document.
        let content =
            serde_json::Deserializer::from_str(text).deserialize_map(ContentVisitor).unwrap_or_default();
        self.content.digest(&Value::Object(content))
    }

    /// Returns the digest of everything that is applied, from an object's metadata and the digest of its content.
    pub(crate) fn digest(&self, metadata: &ObjectMeta, content_digest: u64) -> u64 {
        let mut hasher = DefaultHasher::new();
        content_digest.hash(&mut hasher);
        for (keys, found) in [(&self.labels, &metadata.labels), (&self.annotations, &metadata.annotations)] {
            for key in keys {
                found.as_ref().and_then(|found| found.get(key)).hash(&mut hasher);
            }
        }
        hasher.finish()
    }
}

/// Returns the digest of a whole object.
pub(crate) fn digest_of_all(body: &Value) -> u64 {
    Shape::Whole.digest(body)
}

fn content_of(body: &Value) -> Map<String, Value> {
    let fields = body.as_object().into_iter().flatten();
    fields
        .filter(|(key, _)| !NO_CONTENT.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// Reads the content of an object; skips the rest.
struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Map<String, Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let mut content = Map::new();
        while let Some(key) = fields.next_key::<String>()? {
            if NO_CONTENT.contains(&key.as_str()) {
                fields.next_value::<IgnoredAny>()?;
            } else {
                content.insert(key, fields.next_value()?);
            }
        }
        Ok(content)
    }
}

/// Atomic maps: the API replaces them as a whole.
const ATOMIC: [&str; 3] = ["labelSelector", "nodeSelector", "selector"];
/// Keys of list items, as in server-side apply, in the order in which they are tried. A key identifies the items only if
/// no two have the same value.
const LIST_KEYS: [&str; 6] = ["mountPath", "devicePath", "name", "containerPort", "topologyKey", "port"];

/// The fields of an object that the controller manages.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Shape {
    /// Compared as a whole.
    Whole,
    /// An object of which these fields are ours.
    Fields(BTreeMap<String, Shape>),
    /// A list of which the items with these keys are ours.
    Items(&'static str, BTreeMap<String, Shape>),
}

impl Shape {
    /// Returns the shape of everything that `object` sets.
    fn from_value(object: &Value) -> Self {
        match object {
            Value::Object(map) => Self::Fields(
                map.iter()
                    .map(|(key, value)| {
                        let shape = if ATOMIC.contains(&key.as_str()) {
                            Self::Whole
                        } else {
                            Self::from_value(value)
                        };
                        (key.clone(), shape)
                    })
                    .collect(),
            ),
            Value::Array(items) => Self::from_items(items),
            _ => Self::Whole,
        }
    }

    fn from_items(items: &[Value]) -> Self {
        let identifies = |key: &&str| {
            let values: BTreeSet<_> =
                items.iter().filter_map(|item| item.get(key)).map(|v| item_key(Some(v))).collect();
            !items.is_empty() && values.len() == items.len()
        };
        let Some(key) = LIST_KEYS.into_iter().find(identifies) else { return Self::Whole };
        Self::Items(key, items.iter().map(|item| (item_key(item.get(key)), Self::from_value(item))).collect())
    }

    /// Returns the shape of everything that either of two covers.
    fn union(self, other: Self) -> Self {
        let merged = |mut one: BTreeMap<String, Self>, two: BTreeMap<String, Self>| {
            for (key, shape) in two {
                let shape = match one.remove(&key) {
                    Some(known) => known.union(shape),
                    None => shape,
                };
                one.insert(key, shape);
            }
            one
        };
        match (self, other) {
            (Self::Fields(one), Self::Fields(two)) => Self::Fields(merged(one, two)),
            (Self::Items(key, one), Self::Items(other, two)) if key == other => {
                Self::Items(key, merged(one, two))
            }
            _ => Self::Whole,
        }
    }

    /// Returns whether this shape covers all that another one does.
    fn covers(&self, other: &Self) -> bool {
        let all = |one: &BTreeMap<String, Self>, two: &BTreeMap<String, Self>| {
            two.iter().all(|(key, shape)| one.get(key).is_some_and(|known| known.covers(shape)))
        };
        match (self, other) {
            (Self::Whole, _) => true,
            (Self::Fields(one), Self::Fields(two)) => all(one, two),
            (Self::Items(key, one), Self::Items(other, two)) => key == other && all(one, two),
            // Nothing is set there.
            (Self::Fields(_) | Self::Items(..), _) => false,
        }
    }

    /// Returns a digest of the part of `object` that this shape covers, comparable only within one process.
    fn digest(&self, object: &Value) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.feed(Some(object), &mut hasher);
        hasher.finish()
    }

    fn feed(&self, value: Option<&Value>, hasher: &mut DefaultHasher) {
        match self {
            Self::Whole => feed_value(value, hasher),
            Self::Fields(fields) => {
                for (key, shape) in fields {
                    shape.feed(value.and_then(|value| value.get(key)), hasher);
                }
            }
            Self::Items(key, items) => {
                let list = value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
                for (wanted, shape) in items {
                    let item = list.iter().find(|item| item_key(item.get(key)) == *wanted);
                    item.is_some().hash(hasher);
                    shape.feed(item, hasher);
                }
            }
        }
    }
}

/// Returns a scalar as a string that identifies a list item.
fn item_key(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}

/// Hashes a value so that the order of keys does not matter and an absent value equals an empty one.
fn feed_value(value: Option<&Value>, hasher: &mut DefaultHasher) {
    match value {
        None | Some(Value::Null) => 0_u8.hash(hasher),
        Some(Value::Bool(flag)) => (1_u8, flag).hash(hasher),
        Some(Value::Number(number)) => (2_u8, number.to_string()).hash(hasher),
        Some(Value::String(text)) => (3_u8, text).hash(hasher),
        Some(Value::Array(items)) if items.is_empty() => 0_u8.hash(hasher),
        Some(Value::Array(items)) => {
            (4_u8, items.len()).hash(hasher);
            for item in items {
                feed_value(Some(item), hasher);
            }
        }
        Some(Value::Object(map)) if map.is_empty() => 0_u8.hash(hasher),
        Some(Value::Object(map)) => {
            (5_u8, map.len()).hash(hasher);
            let sorted: BTreeMap<&String, &Value> = map.iter().collect();
            for (key, value) in sorted {
                key.hash(hasher);
                feed_value(Some(value), hasher);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn applied() -> Value {
        json!({
            "labels": {"app": "memcached"},
            "replicas": 3,
            "containers": [{"name": "memcached", "image": "m:1", "ports": [{"containerPort": 11211, "protocol": "TCP"}]}],
            "nodeSelector": {"disk": "fast"},
        })
    }

    #[test]
    fn foreign_fields_items_and_defaults_do_not_matter() {
        let shape = Shape::from_value(&applied());
        let mut live = applied();
        live["labels"]["team"] = json!("x");
        live["strategy"] = json!({"type": "RollingUpdate"});
        live["containers"][0]["imagePullPolicy"] = json!("Always");
        live["containers"] = json!([{"name": "sidecar", "image": "s:1"}, live["containers"][0].clone()]);
        assert_eq!(shape.digest(&applied()), shape.digest(&live));
    }

    #[test]
    fn applied_fields_all_matter() {
        let shape = Shape::from_value(&applied());
        for (pointer, other) in [
            ("/labels/app", json!("else")),
            ("/replicas", json!(2)),
            ("/containers/0/image", json!("m:2")),
            ("/containers/0/ports/0/protocol", json!("UDP")),
            ("/containers/0/name", json!("renamed")),
            ("/nodeSelector", json!({"disk": "fast", "zone": "b"})),
        ] {
            let mut live = applied();
            *live.pointer_mut(pointer).unwrap() = other;
            assert_ne!(shape.digest(&applied()), shape.digest(&live), "{pointer}");
        }
        let mut live = applied();
        live.as_object_mut().unwrap().remove("nodeSelector");
        assert_ne!(shape.digest(&applied()), shape.digest(&live), "a removed field");
    }

    #[test]
    fn outline_notices_what_it_does_not_cover() {
        let body = |extra: Value| {
            let mut spec = applied();
            spec["containers"][0].as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            json!({"kind": "Deployment", "metadata": {"name": "x", "labels": {"a": "1"}}, "spec": spec})
        };
        let outline = Outline::from_example(&body(json!({})));
        assert!(outline.covers(&body(json!({"image": "m:2"}))));
        assert!(!outline.covers(&body(json!({"args": ["-v"]}))));
        let both = outline.union(Outline::from_example(&body(json!({"args": ["-v"]}))));
        assert!(both.covers(&body(json!({"args": ["-vv"]}))) && both.covers(&body(json!({}))));
    }

    #[test]
    fn content_is_everything_beside_metadata_and_status() {
        let data =
            |value: &str| json!({"kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"key": value}});
        let outline = Outline::from_example(&data("a"));
        let live = |value: &str| json!({"kind": "ConfigMap", "metadata": {"name": "x", "managedFields": []}, "data": {"key": value, "other": "1"}});
        let digest = |value: &str| {
            outline.digest(&ObjectMeta::default(), outline.content_digest(&live(value).to_string()))
        };
        assert_eq!(outline.digest_of(&data("a")), digest("a"));
        assert_ne!(outline.digest_of(&data("a")), digest("b"));
    }

    #[test]
    fn items_are_found_by_a_key_that_no_two_share() {
        let mounts =
            |second: &str| json!([{"name": "v", "mountPath": "/a"}, {"name": "v", "mountPath": second}]);
        let shape = Shape::from_value(&mounts("/b"));
        assert_ne!(shape.digest(&mounts("/b")), shape.digest(&mounts("/c")));
    }

    #[test]
    fn field_that_is_not_applied_equals_one_that_is_empty() {
        let shape = Shape::from_value(&applied());
        let (mut absent, mut empty) = (applied(), applied());
        absent.as_object_mut().unwrap().remove("nodeSelector");
        empty["nodeSelector"] = json!({});
        assert_eq!(shape.digest(&absent), shape.digest(&empty));
    }
}
