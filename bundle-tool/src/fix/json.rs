//! What an edit should change, in terms of JSON.

use serde_json::Value as Json;

use super::edit::{Edit, Meaning};
use crate::report::fix::PlaceStep;

/// Changes a value as an edit should; returns whether that was possible.
pub(super) fn change(root: &mut Json, edit: &Edit) -> bool {
    let Some((last, parents)) = edit.place.split_last() else {
        return matches!(&edit.meaning, Meaning::Insert(key, text) if insert(root, key, text));
    };
    if let Meaning::Insert(key, text) = &edit.meaning {
        return reach(root, &edit.place).is_some_and(|map| insert(map, key, text));
    }
    let Some(parent) = reach(root, parents) else { return false };
    match (&edit.meaning, last, parent) {
        (Meaning::Set(value), PlaceStep::Key(key), Json::Object(map)) => {
            map.get_mut(key).is_some_and(|old| {
                *old = value.clone();
                true
            })
        }
        (Meaning::Set(value), PlaceStep::Index(index), Json::Array(items)) => {
            items.get_mut(*index).is_some_and(|old| {
                *old = value.clone();
                true
            })
        }
        (Meaning::Rename(name), PlaceStep::Key(key), Json::Object(map)) => {
            !map.contains_key(name)
                && map.shift_remove(key).is_some_and(|value| map.insert(name.clone(), value).is_none())
        }
        (Meaning::Remove, PlaceStep::Key(key), Json::Object(map)) => map.shift_remove(key).is_some(),
        (Meaning::Remove, PlaceStep::Index(index), Json::Array(items)) if *index < items.len() => {
            items.remove(*index);
            true
        }
        // Another entry with the same key counts.
        (Meaning::RemoveDuplicate, PlaceStep::Key(key), Json::Object(map)) => map.contains_key(key),
        _ => false,
    }
}

fn insert(map: &mut Json, key: &str, text: &str) -> bool {
    map.as_object_mut().is_some_and(|map| map.insert(key.to_owned(), text.into()).is_none())
}

fn reach<'v>(root: &'v mut Json, place: &[PlaceStep]) -> Option<&'v mut Json> {
    place.iter().try_fold(root, |value, step| match step {
        PlaceStep::Key(key) => value.get_mut(key),
        PlaceStep::Index(index) => value.get_mut(*index),
    })
}
