//! Small helpers over JSON values: fields by path, and text as Go's `encoding/json` writes it.

use std::fmt::Write as _;

use serde_json::{Map, Value as Json};

/// What a chain of keys leads to; null where it leads nowhere.
pub(super) fn dig<'j>(json: &'j Json, keys: &[&str]) -> &'j Json {
    keys.iter().fold(json, |json, key| json.get(key).unwrap_or(&Json::Null))
}

/// The text that a chain of keys leads to; empty where there is none.
pub(super) fn text<'j>(json: &'j Json, keys: &[&str]) -> &'j str {
    dig(json, keys).as_str().unwrap_or_default()
}

/// The items of the list that a chain of keys leads to.
pub(super) fn items<'j>(json: &'j Json, keys: &[&str]) -> &'j [Json] {
    dig(json, keys).as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The entries of the map that a chain of keys leads to.
pub(super) fn entries<'j>(json: &'j Json, keys: &[&str]) -> Option<&'j Map<String, Json>> {
    dig(json, keys).as_object()
}

/// The map below `key`, made if it is not there.
pub(super) fn map_mut<'j>(json: &'j mut Json, key: &str) -> Option<&'j mut Map<String, Json>> {
    let object = json.as_object_mut()?;
    if !object.get(key).is_some_and(Json::is_object) {
        object.insert(key.to_owned(), Json::Object(Map::new()));
    }
    object.get_mut(key)?.as_object_mut()
}

/// Sets or, where `value` is an empty list, an empty text or null, removes a field.
pub(super) fn set(map: &mut Map<String, Json>, key: &str, value: Json) {
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

/// JSON with sorted keys, two spaces a level, and `<`, `>`, `&` escaped, as Go's `MarshalIndent` writes it.
pub(super) fn pretty(json: &Json) -> String {
    let mut out = String::new();
    write(json, 0, &mut out);
    out
}

fn write(json: &Json, depth: usize, out: &mut String) {
    let line = |depth: usize, out: &mut String| {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth));
    };
    match json {
        Json::Array(items) if !items.is_empty() => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                line(depth + 1, out);
                write(item, depth + 1, out);
            }
            line(depth, out);
            out.push(']');
        }
        Json::Object(map) if !map.is_empty() => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|entry| entry.0);
            out.push('{');
            for (index, (key, value)) in entries.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                line(depth + 1, out);
                quote(key, out);
                out.push_str(": ");
                write(value, depth + 1, out);
            }
            line(depth, out);
            out.push('}');
        }
        Json::String(text) => quote(text, out),
        other => out.push_str(&other.to_string()),
    }
}

fn quote(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            '\0'..='\x1f' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                // Writing into a string cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_is_written_as_go_writes_it() {
        let value = json!([{"b": [], "a": {"x": "<1 & 2>\n"}}]);
        assert_eq!(
            pretty(&value),
            "[\n  {\n    \"a\": {\n      \"x\": \"\\u003c1 \\u0026 2\\u003e\\n\"\n    },\n    \"b\": []\n  }\n]"
        );
        assert_eq!(pretty(&json!([])), "[]");
    }

    #[test]
    fn an_empty_value_removes_its_field() {
        let mut map = Map::new();
        set(&mut map, "a", json!("x"));
        set(&mut map, "a", json!([]));
        assert!(map.is_empty());
    }
}
