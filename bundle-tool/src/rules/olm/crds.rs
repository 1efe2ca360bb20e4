//! What rules here want to know of the bundle's CRDs, in whichever version they are written.

use crate::model::Object;
use crate::model::csv::CrdDescription;
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

/// Which of the owned entries name a version that is there but not served.
pub(super) fn unserved(context: &Context<'_>, owned: &[CrdDescription]) -> Vec<usize> {
    let crds = all(context);
    let is_unserved = |entry: &CrdDescription| {
        let crd = crds.iter().find(|crd| crd.object.name() == entry.name);
        let version = crd.and_then(|crd| crd.versions.iter().find(|version| version.name == entry.version));
        version.is_some_and(|version| !version.served)
    };
    (0..owned.len()).filter(|&index| is_unserved(&owned[index])).collect()
}

/// Whether OLM looks at an owned entry: of those with one name, it only sees the last.
pub(super) fn counts(owned: &[CrdDescription], index: usize) -> bool {
    owned[index + 1..].iter().all(|later| later.name != owned[index].name)
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
