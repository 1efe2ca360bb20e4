//! Fields of a document, whose names match whatever their case, as in Go.

use serde_json::Value as Json;

use kube_yaml::is_same_name;

/// Returns the value of a field. Of several keys that differ in case the last one in the order of their bytes counts.
pub(crate) fn get<'a>(object: &'a Json, name: &str) -> Option<&'a Json> {
    let found = object.as_object()?.iter().filter(|(key, _)| is_same_name(key, name));
    found.max_by(|(a, _), (b, _)| a.cmp(b)).map(|(_, value)| value)
}

/// Returns the string in a field, empty where there is none.
pub(crate) fn string<'a>(object: &'a Json, name: &str) -> &'a str {
    get(object, name).and_then(Json::as_str).unwrap_or_default()
}
