//! Compares live objects with what the controller applied, without keeping either.
//!
//! A [`Shape`] lists the fields that the controller sets on a kind, taken once from an object with everything set. The
//! digest of an object through its shape covers only those fields: injected containers, foreign labels and the API
//! server's defaults do not change it, any change to an applied field does. Digests are compared, so a cache entry is a
//! few bytes instead of an object.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// What the controller applies to one kind: labels and a spec. Names and owners are compared separately.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outline {
    labels: BTreeSet<String>,
    spec: Shape,
}

impl Outline {
    /// Returns the outline of an object that has everything set.
    pub(crate) fn of(body: &Value) -> Self {
        let labels = body["metadata"]["labels"].as_object().into_iter().flatten();
        Self { labels: labels.map(|(key, _)| key.clone()).collect(), spec: Shape::of(&body["spec"]) }
    }

    /// Returns the digest of a spec, the expensive half of [`Outline::digest`].
    pub(crate) fn spec_digest(&self, spec: &Value) -> u64 {
        self.spec.digest(spec)
    }

    /// Returns the digest of everything that is applied, from an object's labels and the digest of its spec.
    pub(crate) fn digest(&self, labels: Option<&BTreeMap<String, String>>, spec_digest: u64) -> u64 {
        let mut hasher = DefaultHasher::new();
        spec_digest.hash(&mut hasher);
        for key in &self.labels {
            labels.and_then(|labels| labels.get(key)).hash(&mut hasher);
        }
        hasher.finish()
    }
}

/// Atomic maps: the API replaces them as a whole.
const ATOMIC: [&str; 3] = ["labelSelector", "nodeSelector", "selector"];
/// Keys of list items, as in server-side apply for the kinds that are applied here.
const LIST_KEYS: [&str; 3] = ["name", "containerPort", "topologyKey"];

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
    fn of(object: &Value) -> Self {
        match object {
            Value::Object(map) => Self::Fields(
                map.iter()
                    .map(|(key, value)| {
                        let shape =
                            if ATOMIC.contains(&key.as_str()) { Self::Whole } else { Self::of(value) };
                        (key.clone(), shape)
                    })
                    .collect(),
            ),
            Value::Array(items) => Self::of_items(items),
            _ => Self::Whole,
        }
    }

    fn of_items(items: &[Value]) -> Self {
        let Some(key) = LIST_KEYS
            .into_iter()
            .find(|key| !items.is_empty() && items.iter().all(|item| item.get(key).is_some()))
        else {
            return Self::Whole;
        };
        Self::Items(key, items.iter().map(|item| (text(item.get(key)), Self::of(item))).collect())
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
                    let item = list.iter().find(|item| text(item.get(key)) == *wanted);
                    item.is_some().hash(hasher);
                    shape.feed(item, hasher);
                }
            }
        }
    }
}

/// Returns a scalar as a string that identifies a list item.
fn text(value: Option<&Value>) -> String {
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
        let shape = Shape::of(&applied());
        let mut live = applied();
        live["labels"]["team"] = json!("x");
        live["strategy"] = json!({"type": "RollingUpdate"});
        live["containers"][0]["imagePullPolicy"] = json!("Always");
        live["containers"] = json!([{"name": "sidecar", "image": "s:1"}, live["containers"][0].clone()]);
        assert_eq!(shape.digest(&applied()), shape.digest(&live));
    }

    #[test]
    fn every_applied_field_matters() {
        let shape = Shape::of(&applied());
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
    fn a_field_that_is_not_applied_equals_one_that_is_empty() {
        let shape = Shape::of(&applied());
        let (mut absent, mut empty) = (applied(), applied());
        absent.as_object_mut().unwrap().remove("nodeSelector");
        empty["nodeSelector"] = json!({});
        assert_eq!(shape.digest(&absent), shape.digest(&empty));
    }
}
