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
    /// The changes of what stands at `path` that are worth a try, in an order of their own; so that trying one after
    /// the other leaves none out.
    pub fn options(rng: &mut Rng, object: &Value, path: &[Step], place: Place<'_>) -> Vec<Self> {
        let here = |value: Option<Value>| Self { path: path.to_vec(), value };
        let all = |values: Vec<Value>| values.into_iter().map(|value| here(Some(value)));
        let removal = |required: bool| required.then(|| here(None));
        match place {
            Place::Leaf(class, required) => {
                let mut options: Vec<_> = all(class.invalid().to_vec()).chain(removal(required)).collect();
                if !class.is_never() {
                    options.extend(all((0..3).map(|_| class.wrong_type(rng)).collect()));
                    options.extend(all(vec![Value::Null]));
                }
                options
            }
            Place::Map(required, entries) => {
                let map = at(object, path).cloned().unwrap_or_default();
                let members = entries.iter().flat_map(|entry| entry.members(rng));
                // Another member of which only one may be there.
                let several = members.filter(|(name, _)| map.get(name).is_none()).map(|(name, value)| {
                    let mut path = path.to_vec();
                    path.push(Step::Key(name));
                    Self { path, value: Some(value) }
                });
                several
                    .chain(removal(required))
                    .chain(all(vec![json!("text"), json!([]), json!({}), json!(1), json!([{}]), Value::Null]))
                    .collect()
            }
            Place::List(required) => {
                let items = at(object, path).and_then(Value::as_array).cloned().unwrap_or_default();
                let doubled = [items.clone(), items.last().cloned().into_iter().collect()].concat();
                let with_null = [items, vec![Value::Null]].concat();
                all(vec![Value::Array(doubled), json!("text"), json!({}), json!([])])
                    .chain(removal(required))
                    .chain(all(vec![json!(7), Value::Array(with_null), Value::Null]))
                    .collect()
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
