//! What an edit should change, in terms of JSON.

use serde_json::Value as Json;

use super::PathStep;
use super::changes::{Meaning, Replacement};

/// What stands for a removed item until all edits are made. If a document contains it, its edits give another value than expected, and
/// are not made.
const REMOVED: &str = "\0removed";

/// Changes a value as edits should, which are sorted by their places; returns whether that was possible.
pub(crate) fn change(root: &mut Json, edits: &[&Replacement]) -> bool {
    // From the end, so that what an edit renames is still found by the edits within it.
    if !edits.iter().rev().all(|edit| change_one(root, edit)) {
        return false;
    }
    if edits
        .iter()
        .any(|edit| matches!((&edit.meaning, edit.path.last()), (Meaning::Remove, Some(PathStep::Index(_)))))
    {
        drop_removed(root);
    }
    true
}

/// Drops the items that were removed, all in one pass: removing one moves those behind it.
fn drop_removed(value: &mut Json) {
    match value {
        Json::Array(items) => {
            items.retain(|item| *item != REMOVED);
            items.iter_mut().for_each(drop_removed);
        }
        Json::Object(map) => map.values_mut().for_each(drop_removed),
        _ => {}
    }
}

fn change_one(root: &mut Json, edit: &Replacement) -> bool {
    let Some((last, parents)) = edit.path.split_last() else {
        return matches!(&edit.meaning, Meaning::Insert(key, text) if insert(root, key, text));
    };
    if let Meaning::Insert(key, text) = &edit.meaning {
        return reach(root, &edit.path).is_some_and(|map| insert(map, key, text));
    }
    let Some(parent) = reach(root, parents) else { return false };
    match (&edit.meaning, last, parent) {
        (Meaning::Set(value), PathStep::Key(key), Json::Object(map)) => map.get_mut(key).is_some_and(|old| {
            *old = value.clone();
            true
        }),
        (Meaning::Set(value), PathStep::Index(index), Json::Array(items)) => {
            items.get_mut(*index).is_some_and(|old| {
                *old = value.clone();
                true
            })
        }
        (Meaning::Rename(name), PathStep::Key(key), Json::Object(map)) => {
            !map.contains_key(name)
                && map.swap_remove(key).is_some_and(|value| map.insert(name.clone(), value).is_none())
        }
        (Meaning::Remove, PathStep::Key(key), Json::Object(map)) => map.swap_remove(key).is_some(),
        (Meaning::Remove, PathStep::Index(index), Json::Array(items)) => {
            items.get_mut(*index).is_some_and(|item| {
                *item = REMOVED.into();
                true
            })
        }
        // Another entry with the same key counts.
        (Meaning::RemoveDuplicate, PathStep::Key(key), Json::Object(map)) => map.contains_key(key),
        _ => false,
    }
}

fn insert(map: &mut Json, key: &str, text: &str) -> bool {
    map.as_object_mut().is_some_and(|map| map.insert(key.to_owned(), text.into()).is_none())
}

fn reach<'v>(root: &'v mut Json, path: &[PathStep]) -> Option<&'v mut Json> {
    path.iter().try_fold(root, |value, step| match step {
        PathStep::Key(key) => value.get_mut(key),
        PathStep::Index(index) => value.get_mut(*index),
    })
}
