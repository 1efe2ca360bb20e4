//! The CRDs of the bundle, in any API version.

use crate::model::Object;
use crate::model::csv::CrdDescription;
use crate::model::yaml::{Path, Value};
use crate::rules::{Context, Reporter};

/// One CRD.
pub(super) struct Crd<'b> {
    /// As written.
    pub(super) object: Object<'b>,
    /// `spec.group`
    pub(super) group: &'b str,
    /// `spec.names.kind`
    pub(super) kind: &'b str,
    /// The versions, as in v1 or in v1beta1.
    pub(super) versions: Vec<Version<'b>>,
}

/// One version of a CRD.
pub(super) struct Version<'b> {
    /// `name`
    pub(super) name: &'b str,
    /// `served`
    pub(super) served: bool,
}

/// Returns all CRDs of the bundle.
pub(super) fn all<'b>(context: &Context<'b>) -> Vec<Crd<'b>> {
    context.bundle.of_kind("CustomResourceDefinition").map(read).collect()
}

/// Reports owned entries whose version is declared but not served: of the entries for one CRD, either the last one, which
/// OLM validates, or the others.
pub(super) fn report_unserved(context: &Context<'_>, reporter: &mut Reporter<'_>, last: bool) {
    let crds = all(context);
    let entries = Path::ROOT.field("spec.customresourcedefinitions.owned");
    for csv in &context.csvs {
        let owned = &csv.typed.spec.customresourcedefinitions.owned;
        for (index, CrdDescription { name, version, .. }) in owned.iter().enumerate() {
            let is_last = owned[index + 1..].iter().all(|later| later.name != *name);
            let crd = crds.iter().find(|crd| crd.object.name() == name);
            let known = crd.and_then(|crd| crd.versions.iter().find(|known| known.name == version));
            if is_last == last && known.is_some_and(|known| !known.served) {
                let message = format!("version `{version}` of CRD `{name}` is not served");
                reporter.field(&csv.object, &entries.index(index).field("version"), message);
            }
        }
    }
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
