//! What rules here want to know of the bundle's CRDs, in whichever version they are written.

use crate::model::Object;
use crate::model::yaml::Value;
use crate::rules::Context;

/// One CRD.
pub(super) struct Crd<'b> {
    /// As written.
    pub(super) object: Object<'b>,
    /// `spec.group`
    pub(super) group: &'b str,
    /// `spec.names.kind`
    pub(super) kind: &'b str,
    /// The versions, in v1's form and in v1beta1's.
    pub(super) versions: Vec<Version<'b>>,
}

/// One version of a CRD.
pub(super) struct Version<'b> {
    /// `name`
    pub(super) name: &'b str,
    /// `served`
    pub(super) served: bool,
}

/// All CRDs of the bundle.
pub(super) fn all<'b>(context: &Context<'b>) -> Vec<Crd<'b>> {
    context.bundle.of_kind("CustomResourceDefinition").map(read).collect()
}

fn read(object: Object<'_>) -> Crd<'_> {
    let text = |keys: &[&str]| object.root.dig(keys).and_then(Value::as_str).unwrap_or_default();
    let listed = object.root.dig(&["spec", "versions"]).into_iter().flat_map(Value::items);
    let mut versions: Vec<_> = listed
        .map(|version| Version {
            name: version.get("name").and_then(Value::as_str).unwrap_or_default(),
            served: version.get("served").and_then(Value::as_bool).unwrap_or_default(),
        })
        .collect();
    let single = text(&["spec", "version"]);
    if versions.is_empty() && !single.is_empty() {
        versions.push(Version { name: single, served: true });
    }
    Crd { object, group: text(&["spec", "group"]), kind: text(&["spec", "names", "kind"]), versions }
}
