//! Small helpers over JSON values: fields by path.

use serde_json::{Map, Value as Json};

/// What a chain of keys leads to; null where it leads nowhere.
pub(crate) fn dig<'j>(json: &'j Json, keys: &[&str]) -> &'j Json {
    keys.iter().fold(json, |json, key| json.get(key).unwrap_or(&Json::Null))
}

/// The text that a chain of keys leads to; empty where there is none.
pub(crate) fn string_at<'j>(json: &'j Json, keys: &[&str]) -> &'j str {
    dig(json, keys).as_str().unwrap_or_default()
}

/// The items of the list that a chain of keys leads to.
pub(crate) fn items<'j>(json: &'j Json, keys: &[&str]) -> &'j [Json] {
    dig(json, keys).as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The entries of the map that a chain of keys leads to.
pub(crate) fn entries<'j>(json: &'j Json, keys: &[&str]) -> Option<&'j Map<String, Json>> {
    dig(json, keys).as_object()
}

/// The map below `key`, made if it is not there.
pub(crate) fn map_mut<'j>(json: &'j mut Json, key: &str) -> Option<&'j mut Map<String, Json>> {
    let object = json.as_object_mut()?;
    if !object.get(key).is_some_and(Json::is_object) {
        object.insert(key.to_owned(), Json::Object(Map::new()));
    }
    object.get_mut(key)?.as_object_mut()
}

/// Sets or, where `value` is an empty list, an empty text or null, removes a field.
pub(crate) fn set(map: &mut Map<String, Json>, key: &str, value: Json) {
    let empty = match &value {
        Json::Null => true,
        Json::Array(items) => items.is_empty(),
        Json::String(text) => text.is_empty(),
        _ => false,
    };
    if empty {
        map.shift_remove(key);
    } else {
        map.insert(key.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_empty_value_removes_its_field() {
        let mut map = Map::new();
        set(&mut map, "a", json!("x"));
        set(&mut map, "a", json!([]));
        assert!(map.is_empty());
    }
}
