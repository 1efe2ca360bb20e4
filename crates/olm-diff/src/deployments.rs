//! What changes in the Deployments of a CSV, field by field. Webhooks are compared in the same way.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::immutable::shown;
use super::schema::same_json;

/// How deep objects are compared field by field.
const MAX_DEPTH: usize = 32;

/// Returns the changed fields of the Deployments that two CSVs have in common, as lines. `spec.selector` is omitted: it is
/// immutable.
pub(crate) fn changes(old: &[Value], new: &[Value]) -> Vec<String> {
    let old: BTreeMap<&str, &Value> = old.iter().map(|deployment| (name(deployment), deployment)).collect();
    let mut found = Vec::new();
    for new in new {
        let Some(old) = old.get(name(new)) else { continue };
        let start = format!("`{}`: spec", name(new));
        compare(&start, &old["spec"], &new["spec"], &mut found);
    }
    let is_selector =
        |line: &String| line.split_once("`: ").is_some_and(|(_, path)| path.starts_with("spec.selector"));
    found.retain(|line| !is_selector(line));
    found
}

/// Returns the names of Deployments.
pub(crate) fn names(deployments: &[Value]) -> BTreeSet<String> {
    deployments.iter().map(|deployment| name(deployment).to_owned()).collect()
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// Adds the fields in which two values differ, as lines that begin with `path`.
pub(crate) fn compare(path: &str, old: &Value, new: &Value, found: &mut Vec<String>) {
    compare_nested(path, old, new, MAX_DEPTH, found);
}

fn compare_nested(path: &str, old: &Value, new: &Value, depth: usize, found: &mut Vec<String>) {
    if same_json(old, new) {
        return;
    }
    if let Some(depth) = depth.checked_sub(1) {
        if let (Value::Object(old), Value::Object(new)) = (old, new) {
            return fields(old, new, &mut |name, old, new| {
                compare_nested(&format!("{path}.{name}"), old, new, depth, found);
            });
        }
        if let (Some(old), Some(new)) = (by_name(old), by_name(new)) {
            return fields(&old, &new, &mut |name, old, new| {
                compare_nested(&format!("{path}[{name}]"), old, new, depth, found);
            });
        }
    }
    found.push(format!("{path}: {} -> {}", shown(old), shown(new)));
}

/// Calls `each` with every field of two maps.
fn fields(old: &Map<String, Value>, new: &Map<String, Value>, each: &mut impl FnMut(&str, &Value, &Value)) {
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for name in names {
        each(name, old.get(name).unwrap_or(&Value::Null), new.get(name).unwrap_or(&Value::Null));
    }
}

/// Returns the items of a list by their names, if each has one of its own.
fn by_name(list: &Value) -> Option<Map<String, Value>> {
    let items = list.as_array()?;
    let named: Map<String, Value> =
        items.iter().filter_map(|item| Some((item["name"].as_str()?.to_owned(), item.clone()))).collect();
    (named.len() == items.len()).then_some(named)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn changed_fields_are_named_by_container_and_variable() {
        let deployment = |replicas: u32, env: Value, label: &str| {
            json!({"metadata": {"name": "gizmo"}, "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": {"app": label}},
                "template": {"spec": {"containers": [{"name": "manager", "args": ["-v"], "env": env}]}},
            }})
        };
        let old = deployment(1, json!([{"name": "A", "value": "1"}, {"name": "B", "value": "1"}]), "a");
        let new = deployment(2, json!([{"name": "B", "value": "2"}, {"name": "A", "value": "1"}]), "b");
        let env = "`gizmo`: spec.template.spec.containers[manager].env[B].value: 1 -> 2";
        assert_eq!(changes(&[old], &[new]), ["`gizmo`: spec.replicas: 1 -> 2", env]);
    }
}
