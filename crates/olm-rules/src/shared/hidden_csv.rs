//! A `ClusterServiceVersion` in `manifests/` that no tool reads as one.

use kube_yaml::{Tree, Value};
use olm_model::{Bundle, Content, File};

/// The kind.
pub(crate) const KIND: &str = "ClusterServiceVersion";

/// Returns whether an object is meant to be a CSV: it has no kind or a misspelled one, and the API version or fields of a CSV.
pub(crate) fn is_meant(object: Value<'_>) -> bool {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    let kind = text("kind");
    let is_unnamed = kind.is_empty()
        || (kind != KIND && kind.eq_ignore_ascii_case(KIND))
        || kind.eq_ignore_ascii_case("csv")
        || is_misspelled(kind);
    let has = |field: &str| object.dig(&["spec", field]).is_some();
    is_unnamed
        && (text("apiVersion").starts_with("operators.coreos.com/v1alpha1")
            || has("installModes")
            || has("customresourcedefinitions"))
}

fn is_misspelled(kind: &str) -> bool {
    kind != KIND && olm_model::report::suggest::nearest(kind, [KIND]).is_some()
}

/// Returns the file and the document of a CSV that is not the first document of its file.
pub(crate) fn unread(bundle: &Bundle) -> Option<(&File, &Tree)> {
    bundle.manifests().find_map(|file| {
        let Content::Documents { documents, .. } = &file.content else { return None };
        let is_csv = |tree: &&Tree| tree.root().get("kind").and_then(Value::as_str) == Some(KIND);
        let read = usize::from(file.document().is_some());
        documents.iter().skip(read).find(is_csv).map(|tree| (file, tree))
    })
}
