//! A CSV as OLM writes it: read into Go's types, and written out again.
//!
//! What is null or unknown is gone afterwards, and what the types always write is there: a required text as an empty
//! one, a required number as 0. The API server gets this, not what the bundle says. The schema is that of the CSVs' CRD.

use serde_json::{Map, Value, json};

/// Required fields that are pointers in Go: where they are missing, they stay missing.
const POINTERS: &[&str] = &["selector", "sideEffects", "secretRef"];

/// What OLM makes of `value`.
#[must_use]
pub(crate) fn written(schema: &Value, value: &Value) -> Value {
    match value {
        Value::Object(map) if schema.get("properties").is_some() => object(schema, map),
        Value::Object(map) => match schema.get("additionalProperties") {
            Some(values) if values.is_object() => {
                map.iter().map(|(key, value)| (key.clone(), item(values, value))).collect()
            }
            _ => value.clone(),
        },
        Value::Array(items) => match schema.get("items") {
            Some(schema) => items.iter().map(|value| item(schema, value)).collect(),
            None => value.clone(),
        },
        // Quantities are read without the blanks around them.
        Value::String(text) if schema.get("pattern").is_some() => json!(text.trim()),
        Value::Number(number) if schema.get("pattern").is_some() => json!(number.to_string()),
        other => other.clone(),
    }
}

fn object(schema: &Value, map: &Map<String, Value>) -> Value {
    let properties = schema["properties"].as_object();
    let mut all = Map::new();
    for (key, value) in map.iter().filter(|(_, value)| !value.is_null()) {
        match properties.and_then(|properties| properties.get(key)) {
            // A port of 0 is none.
            Some(_) if key == "containerPort" && *value == 0 => {}
            Some(schema) => {
                all.insert(key.clone(), written(schema, value));
            }
            None if schema["x-kubernetes-preserve-unknown-fields"] == true => {
                all.insert(key.clone(), value.clone());
            }
            None => {}
        }
    }
    for key in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !all.contains_key(key)
            && !POINTERS.contains(&key)
            && let Some(zero) = zero(&schema["properties"][key])
        {
            all.insert(key.to_owned(), zero);
        }
    }
    Value::Object(all)
}

fn item(schema: &Value, value: &Value) -> Value {
    if value.is_null() { zero(schema).unwrap_or(Value::Null) } else { written(schema, value) }
}

/// What Go's types write where nothing was read; nothing for lists, which are null then.
fn zero(schema: &Value) -> Option<Value> {
    if schema["x-kubernetes-int-or-string"] == true {
        return Some(json!(0));
    }
    match schema["type"].as_str()? {
        "string" => Some(json!("")),
        "integer" | "number" => Some(json!(0)),
        "boolean" => Some(json!(false)),
        "object" if schema.get("properties").is_some() => Some(object(schema, &Map::new())),
        "object" => Some(json!({})),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_go_always_writes_is_there_and_what_it_never_reads_is_gone() {
        let schema = json!({"type": "object", "required": ["name", "count", "list", "sideEffects"], "properties": {
            "name": {"type": "string"}, "count": {"type": "integer"}, "sideEffects": {"type": "string"},
            "list": {"type": "array", "items": {"type": "string"}}, "more": {"type": "array", "items": {"type": "string"}},
        }});
        let value = json!({"name": null, "unknown": 1, "more": ["a", null]});
        assert_eq!(written(&schema, &value), json!({"more": ["a", ""], "name": "", "count": 0}));
    }
}
