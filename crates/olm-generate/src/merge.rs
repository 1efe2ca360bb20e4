//! Two ways to merge CSVs: overrides over what was generated, and what is generated now into a base with manual changes.

use std::collections::HashMap;

use serde_json::{Map, Value as Json};

use super::json::string_at;

/// The fields that identify the items of a list. Lists of other items are one value.
const IDENTITIES: [&[&str]; 4] = [&["path"], &["name", "version", "kind"], &["type"], &["name"]];

/// Merges `patch` over `json`: maps, and lists whose items have a name or a path, are merged; null removes.
pub fn overlay(json: &mut Json, patch: &Json) {
    match (json, patch) {
        (Json::Object(map), Json::Object(patch)) => {
            for (key, value) in patch {
                match map.get_mut(key) {
                    _ if value.is_null() => {
                        map.shift_remove(key);
                    }
                    Some(old) => overlay(old, value),
                    None => {
                        map.insert(key.clone(), value.clone());
                    }
                }
            }
        }
        (Json::Array(list), Json::Array(patch)) if has_identity(list) && patch.iter().all(is_named) => {
            for item in patch {
                // An override need not name everything that an item is known by.
                let matching: Vec<usize> =
                    (0..list.len()).filter(|&index| fits(&list[index], item)).collect();
                if matching.is_empty() {
                    list.push(item.clone());
                }
                for index in matching {
                    overlay(&mut list[index], item);
                }
            }
        }
        (json, patch) => *json = patch.clone(),
    }
}

/// The fields that may identify an item.
const NAMES: [&str; 5] = ["path", "name", "kind", "version", "type"];

/// Returns whether a patch applies to an item: all identifying fields of the patch are equal.
fn fits(item: &Json, patch: &Json) -> bool {
    NAMES.iter().all(|key| patch.get(key).is_none_or(|value| item.get(key) == Some(value)))
}

fn is_named(item: &Json) -> bool {
    NAMES.iter().any(|key| item.get(key).is_some())
}

/// Updates a base: manual changes are kept; what was generated `last` time and not changed since becomes what is generated
/// `now`.
pub(crate) fn update(base: &Json, last: Option<&Json>, now: &Json) -> Json {
    if Some(base) == last {
        return now.clone();
    }
    match (base, now) {
        // Null is what is not there.
        (Json::Null, now) => now.clone(),
        (Json::Array(base), Json::Array(now)) if base.is_empty() && last.is_none() => {
            Json::Array(now.clone())
        }
        (Json::Object(base), Json::Object(now)) => {
            let last = last.and_then(Json::as_object);
            let mut merged = Map::new();
            for (key, value) in base {
                let old = last.and_then(|last| last.get(key));
                match now.get(key) {
                    Some(now) => {
                        merged.insert(key.clone(), update(value, old, now));
                    }
                    // No longer generated: removed, unless it was changed manually.
                    None if old == Some(value) => {}
                    None => {
                        merged.insert(key.clone(), value.clone());
                    }
                }
            }
            for (key, value) in now {
                // What was removed manually is not added again.
                if !base.contains_key(key) && last.is_none_or(|last| !last.contains_key(key)) {
                    merged.insert(key.clone(), value.clone());
                }
            }
            Json::Object(merged)
        }
        (Json::Array(base), Json::Array(now)) if has_identity(base) && has_identity(now) => {
            let last = last.and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
            let (in_base, in_last, in_now) = (index(base), index(last), index(now));
            let mut merged: Vec<Json> = base
                .iter()
                .filter_map(|item| match (in_now.get(&identity(item)), in_last.get(&identity(item))) {
                    (Some(now), old) => Some(update(item, old.copied(), now)),
                    (None, Some(old)) if *old == item => None,
                    (None, _) => Some(item.clone()),
                })
                .collect();
            merged.extend(
                now.iter()
                    .filter(|item| {
                        let identity = identity(item);
                        !in_base.contains_key(&identity) && !in_last.contains_key(&identity)
                    })
                    .cloned(),
            );
            Json::Array(merged)
        }
        (base, _) => base.clone(),
    }
}

fn identity(item: &Json) -> Option<Vec<&str>> {
    IDENTITIES
        .iter()
        .find(|keys| keys.iter().all(|key| item.get(key).is_some_and(Json::is_string)))
        .map(|keys| keys.iter().map(|key| string_at(item, &[key])).collect())
}

/// Indexes the items of a list by their identity; of several with the same, the first.
fn index(list: &[Json]) -> HashMap<Option<Vec<&str>>, &Json> {
    let mut index = HashMap::new();
    for item in list {
        let identity = identity(item);
        if identity.is_some() {
            index.entry(identity).or_insert(item);
        }
    }
    index
}

fn has_identity(list: &[Json]) -> bool {
    list.iter().all(|item| identity(item).is_some())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn manual_changes_are_kept_and_the_rest_is_updated() {
        let last = json!({"title": "Lake", "text": "old", "gone": 1, "list": [{"path": "a", "displayName": "A"}, {"path": "c"}]});
        let base = json!({
            "title": "My lake", "text": "old", "gone": 1, "mine": true,
            "list": [{"path": "a", "displayName": "Mine"}, {"path": "b"}, {"path": "c"}],
        });
        let now = json!({"title": "Lakes", "text": "new", "list": [{"path": "a", "displayName": "AA", "x": 1}, {"path": "d"}]});
        assert_eq!(
            update(&base, Some(&last), &now),
            json!({
                "title": "My lake", "text": "new", "mine": true,
                "list": [{"path": "a", "displayName": "Mine", "x": 1}, {"path": "b"}, {"path": "d"}],
            })
        );
    }

    #[test]
    fn without_a_record_everything_in_the_base_is_manual() {
        assert_eq!(update(&json!({"a": 1}), None, &json!({"a": 2, "b": 3})), json!({"a": 1, "b": 3}));
    }

    #[test]
    fn what_was_removed_manually_is_not_added_again() {
        let last = json!({"a": 1, "list": [{"path": "x"}]});
        assert_eq!(update(&json!({"list": []}), Some(&last), &last), json!({"list": []}));
    }

    #[test]
    fn overrides_apply_to_their_items() {
        let mut csv = json!({"owned": [
            {"kind": "Lake", "name": "lakes.x", "version": "v1", "specDescriptors": [{"path": "depth"}]},
            {"kind": "Lake", "name": "lakes.x", "version": "v2"},
        ]});
        overlay(
            &mut csv,
            &json!({"owned": [
                {"kind": "Lake", "name": "lakes.x", "version": "v1", "specDescriptors": [{"path": "depth", "displayName": "Depth (m)"}]},
            ]}),
        );
        assert_eq!(csv["owned"][0]["specDescriptors"][0]["displayName"], "Depth (m)");
        overlay(&mut csv, &json!({"owned": [{"kind": "Lake", "displayName": "A lake"}]}));
        assert_eq!(
            csv["owned"][1],
            json!({"kind": "Lake", "name": "lakes.x", "version": "v2", "displayName": "A lake"})
        );
        overlay(&mut csv, &json!({"owned": null}));
        assert_eq!(csv, json!({}));
    }
}
