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
    /// The new value; nothing where the old one is removed.
    pub value: Option<Value>,
}

impl Edit {
    /// The changes of what stands at `path` that are worth a try, each with a name by which it is known again in
    /// another object.
    pub fn options(rng: &mut Rng, object: &Value, path: &[Step], place: Place<'_>) -> Vec<(String, Self)> {
        let mut options = Vec::new();
        let mut named = |name: String, path: &[Step], value: Option<Value>| {
            options.push((name, Self { path: path.to_vec(), value }));
        };
        let mut values = match place {
            Place::Leaf(class, required) => {
                if required {
                    named("removed".to_owned(), path, None);
                }
                let mut values = class.invalid().to_vec();
                if !class.is_never() {
                    values.extend((0..3).map(|_| class.wrong_type(rng)));
                    values.push(Value::Null);
                }
                values
            }
            Place::Map(required, entries) => {
                let map = at(object, path).cloned().unwrap_or_default();
                if required {
                    named("removed".to_owned(), path, None);
                }
                // Another member of which only one may be there.
                for (name, value) in entries.iter().flat_map(|entry| entry.members(rng)) {
                    if map.get(&name).is_none() {
                        let mut path = path.to_vec();
                        path.push(Step::Key(name.clone()));
                        named(format!("{name} beside another"), &path, Some(value));
                    }
                }
                vec![json!("text"), json!([]), json!({}), json!(1), json!([{}]), Value::Null]
            }
            Place::List(required) => {
                let items = at(object, path).and_then(Value::as_array).cloned().unwrap_or_default();
                if required {
                    named("removed".to_owned(), path, None);
                }
                let doubled = [items.clone(), items.last().cloned().into_iter().collect()].concat();
                named("the last item doubled".to_owned(), path, Some(Value::Array(doubled)));
                let with_null = [items, vec![Value::Null]].concat();
                named("a null added".to_owned(), path, Some(Value::Array(with_null)));
                vec![json!("text"), json!({}), json!([]), json!(7), Value::Null]
            }
        };
        values.dedup();
        for value in values {
            named(shortened(&value), path, Some(value));
        }
        options
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
            Some(value) => write!(f, " = {}", shortened(value)),
            None => write!(f, " removed"),
        }
    }
}

/// A value as people can read it.
fn shortened(value: &Value) -> String {
    let text = value.to_string();
    let length = text.chars().count();
    if length <= 300 {
        return text;
    }
    let start: String = text.chars().take(120).collect();
    format!("{start}… ({length} characters)")
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

/// Puts a value at a path, or removes what is there; maps on the way are made.
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
