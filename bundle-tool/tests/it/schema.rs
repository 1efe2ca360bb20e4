//! A validator for the part of JSON Schema that this project's own schemas use.

use serde_json::Value;

/// Returns what is wrong with a value, each with the path of the value. Keywords that are not known are errors too, so that
/// no schema promises more than is tested.
pub(crate) fn errors(schema: &Value, value: &Value) -> Vec<String> {
    let mut errors = Vec::new();
    check(schema, schema, value, "$", &mut errors);
    errors
}

fn check(root: &Value, schema: &Value, value: &Value, path: &str, errors: &mut Vec<String>) {
    for (keyword, argument) in schema.as_object().unwrap() {
        let holds = match keyword.as_str() {
            "$schema" | "$id" | "$defs" | "title" | "description" | "default" | "items" | "properties" => {
                true
            }
            "$ref" => {
                let target = root.pointer(argument.as_str().unwrap().strip_prefix('#').unwrap()).unwrap();
                check(root, target, value, path, errors);
                true
            }
            "const" => value == argument,
            "enum" => argument.as_array().unwrap().contains(value),
            "type" => match argument {
                Value::Array(types) => types.iter().any(|name| is(value, name.as_str().unwrap())),
                name => is(value, name.as_str().unwrap()),
            },
            "minimum" => value.as_f64().is_none_or(|number| number >= argument.as_f64().unwrap()),
            "minLength" => value.as_str().is_none_or(|text| text.len() as u64 >= argument.as_u64().unwrap()),
            "pattern" => value
                .as_str()
                .is_none_or(|text| regex::Regex::new(argument.as_str().unwrap()).unwrap().is_match(text)),
            "uniqueItems" => value.as_array().is_none_or(|items| {
                items.iter().enumerate().all(|(index, item)| !items[..index].contains(item))
            }),
            "required" => value.as_object().is_none_or(|map| {
                argument.as_array().unwrap().iter().all(|name| map.contains_key(name.as_str().unwrap()))
            }),
            "propertyNames" => {
                for name in value.as_object().into_iter().flat_map(|map| map.keys()) {
                    check(root, argument, &Value::String(name.clone()), &format!("{path}.{name}"), errors);
                }
                true
            }
            "additionalProperties" => {
                let known = schema.get("properties").and_then(Value::as_object);
                for (name, item) in value.as_object().into_iter().flatten() {
                    if known.is_some_and(|known| known.contains_key(name)) {
                        continue;
                    }
                    if argument == false {
                        errors.push(format!("{path}.{name}: not declared"));
                    } else {
                        check(root, argument, item, &format!("{path}.{name}"), errors);
                    }
                }
                true
            }
            other => panic!("unknown keyword {other}"),
        };
        if !holds {
            errors.push(format!("{path}: {keyword} {argument}: {value}"));
        }
    }
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if let Some(item) = value.get(name) {
            check(root, property, item, &format!("{path}.{name}"), errors);
        }
    }
    if let (Some(items), Some(list)) = (schema.get("items"), value.as_array()) {
        for (index, item) in list.iter().enumerate() {
            check(root, items, item, &format!("{path}[{index}]"), errors);
        }
    }
}

fn is(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("unknown type {other}"),
    }
}
