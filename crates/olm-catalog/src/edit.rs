//! Edits documents of a catalog: only what differs is changed.

use serde_json::Value as Json;

use kube_yaml::go_json;
use olm_model::catalog::Bundle;

/// Returns the text of a document with new contents. YAML is edited where it differs; if that is not possible, it is written again,
/// after the separator and the comments before its first key. JSON is always written again.
#[must_use]
pub fn document(old: &[u8], new: &Json, is_json: bool) -> String {
    if is_json {
        return go_json::pretty(new);
    }
    if let Ok(text) = std::str::from_utf8(old)
        && let Ok(new) = kube_yaml::edit::rewrite(text, new)
    {
        return new;
    }
    let mut text = String::new();
    for line in old.split_inclusive(|&byte| byte == b'\n') {
        let is_kept = line.starts_with(b"---") || line.starts_with(b"#") || line.trim_ascii().is_empty();
        if !is_kept {
            break;
        }
        text.push_str(&String::from_utf8_lossy(line));
    }
    if text.starts_with("---") && !text.ends_with('\n') {
        text.push('\n');
    }
    text + &kube_yaml::emit(new)
}

/// Returns the document of a bundle with the properties of `bundle`. Other fields are unchanged, even those that [`Bundle`] does not have.
///
/// # Errors
/// A property is not JSON.
pub fn with_properties(mut document: Json, bundle: Bundle) -> serde_json::Result<Json> {
    if let (Some(document), Json::Object(new)) = (document.as_object_mut(), serde_json::to_value(bundle)?) {
        document.retain(|key, _| !kube_yaml::is_same_name(key, "properties"));
        document.extend(new.into_iter().filter(|(key, _)| key == "properties"));
    }
    Ok(document)
}
