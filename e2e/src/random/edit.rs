//! One change to a valid object: what makes it invalid, or might.

use std::fmt;

use fastrand::Rng;
use serde_json::{Value, json};

use super::template::{Place, Step};

/// A change at one place of an object.
#[derive(Debug, Clone)]
pub struct Edit {
    /// The place.
    pub path: Vec<Step>,
    /// The new value; nothing where the old one is taken out.
    pub value: Option<Value>,
}

impl Edit {
    /// A change of what stands at `place`, chosen by chance.
    pub fn choose(rng: &mut Rng, object: &Value, path: &[Step], place: Place<'_>) -> Self {
        let here = |value: Option<Value>| Self { path: path.to_vec(), value };
        let chance = rng.u8(..100);
        match place {
            Place::Leaf(class, required) => {
                let invalid = class.invalid();
                if required && chance < 12 {
                    here(None)
                } else if !invalid.is_empty() && (class.is_never() || chance < 88) {
                    here(Some(invalid[rng.usize(..invalid.len())].clone()))
                } else if chance < 91 {
                    here(Some(Value::Null))
                } else {
                    here(Some(class.wrong_type(rng)))
                }
            }
            Place::Map(required, entries) => {
                let members: Vec<_> = entries.iter().flat_map(|entry| entry.members(rng)).collect();
                let missing: Vec<_> = members
                    .iter()
                    .filter(|(name, _)| at(object, path).is_some_and(|here| here.get(name).is_none()))
                    .collect();
                if !missing.is_empty() && chance < 50 {
                    let (name, value) = missing[rng.usize(..missing.len())];
                    let mut path = path.to_vec();
                    path.push(Step::Key(name.clone()));
                    Self { path, value: Some(value.clone()) }
                } else if required && chance < 60 {
                    here(None)
                } else {
                    let values = [
                        json!({}),
                        Value::Null,
                        json!("text"),
                        json!([]),
                        json!([{}]),
                        json!(1),
                        json!(true),
                    ];
                    here(Some(values[rng.usize(..values.len())].clone()))
                }
            }
            Place::List(required) => {
                let items = at(object, path).and_then(Value::as_array).cloned().unwrap_or_default();
                let doubled = [items.clone(), items.last().cloned().into_iter().collect()].concat();
                let with_null = [items, vec![Value::Null]].concat();
                if required && chance < 15 {
                    here(None)
                } else if chance < 50 {
                    here(Some(Value::Array(doubled)))
                } else {
                    let values =
                        [json!([]), Value::Null, json!("text"), json!({}), json!(7), Value::Array(with_null)];
                    here(Some(values[rng.usize(..values.len())].clone()))
                }
            }
        }
    }

    /// The object with the change.
    #[must_use]
    pub fn apply(&self, object: &Value) -> Value {
        let mut object = object.clone();
        set(&mut object, &self.path, self.value.clone());
        object
    }
}

impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", path_text(&self.path))?;
        match &self.value {
            Some(value) => {
                let text = value.to_string();
                if text.chars().count() > 300 {
                    let start: String = text.chars().take(120).collect();
                    write!(f, " = {start}… ({} characters)", text.chars().count())
                } else {
                    write!(f, " = {text}")
                }
            }
            None => write!(f, " removed"),
        }
    }
}

/// A path as people write it: `spec.ports[0].name`.
#[must_use]
pub fn path_text(path: &[Step]) -> String {
    let mut text = String::new();
    for step in path {
        let written = match step {
            Step::Key(key) if key.contains(['.', '/']) => format!("[{key:?}]"),
            Step::Key(key) if text.is_empty() => key.clone(),
            Step::Key(key) => format!(".{key}"),
            Step::Index(index) => format!("[{index}]"),
        };
        text.push_str(&written);
    }
    text
}

/// What stands at a path.
#[must_use]
pub fn at<'v>(object: &'v Value, path: &[Step]) -> Option<&'v Value> {
    path.iter().try_fold(object, |value, step| match step {
        Step::Key(key) => value.get(key),
        Step::Index(index) => value.get(index),
    })
}

/// Puts a value at a path, or takes out what is there; maps on the way are made.
pub fn set(object: &mut Value, path: &[Step], value: Option<Value>) {
    let Some((last, parents)) = path.split_last() else {
        *object = value.unwrap_or(Value::Null);
        return;
    };
    let mut here = object;
    for step in parents {
        here = match (step, here) {
            (Step::Key(key), Value::Object(map)) => map.entry(key.clone()).or_insert_with(|| json!({})),
            (Step::Index(index), Value::Array(items)) if *index < items.len() => &mut items[*index],
            _ => return,
        };
    }
    match (last, here, value) {
        (Step::Key(key), Value::Object(map), Some(value)) => {
            map.insert(key.clone(), value);
        }
        (Step::Key(key), Value::Object(map), None) => {
            map.shift_remove(key);
        }
        (Step::Index(index), Value::Array(items), value) if *index < items.len() => match value {
            Some(value) => items[*index] = value,
            None => {
                items.remove(*index);
            }
        },
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_made_at_its_place_only() {
        let object = json!({"a": {"b": [1, 2]}, "c": 3});
        let path = vec![Step::Key("a".into()), Step::Key("b".into()), Step::Index(1)];
        let edit = Edit { path: path.clone(), value: Some(json!("x")) };
        assert_eq!(edit.apply(&object), json!({"a": {"b": [1, "x"]}, "c": 3}));
        assert_eq!(Edit { path, value: None }.apply(&object), json!({"a": {"b": [1]}, "c": 3}));
        assert_eq!(edit.to_string(), "a.b[1] = \"x\"");
    }
}
