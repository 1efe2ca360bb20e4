//! The CRDs of the bundle, in any API version.

use std::collections::{BTreeMap, BTreeSet};

use crate::prelude::*;
use kube_yaml::Value;
use olm_model::Object;
use olm_model::csv::CrdDescription;

/// One CRD.
pub(crate) struct Crd<'b> {
    /// As written.
    pub(crate) object: Object<'b>,
    /// `spec.group`
    pub(crate) group: &'b str,
    /// `spec.names.kind`
    pub(crate) kind: &'b str,
    /// The versions, as in v1 or in v1beta1, and whether they are served.
    pub(crate) versions: BTreeMap<&'b str, bool>,
}

/// Returns all CRDs of the bundle.
pub(crate) fn all<'b>(context: &Context<'b>) -> Vec<Crd<'b>> {
    context.bundle.of_kind("CustomResourceDefinition").map(read).collect()
}

/// Returns the first CRD of each name.
pub(crate) fn by_name<'b>(context: &Context<'b>) -> BTreeMap<&'b str, Crd<'b>> {
    let mut named = BTreeMap::new();
    for crd in all(context) {
        named.entry(crd.object.name()).or_insert(crd);
    }
    named
}

/// Reports owned entries whose version is declared but not served: of the entries for one CRD, either the last one, which
/// OLM validates, or the others.
pub(crate) fn report_unserved(context: &Context<'_>, reporter: &mut Reporter<'_>, last: bool) {
    let crds = by_name(context);
    let entries = Path::ROOT.field("spec.customresourcedefinitions.owned");
    for csv in &context.csvs {
        let owned = &csv.typed.spec.customresourcedefinitions.owned;
        let mut later = BTreeSet::new();
        for (index, CrdDescription { name, version, .. }) in owned.iter().enumerate().rev() {
            let is_last = later.insert(name);
            let served = crds.get(name.as_str()).and_then(|crd| crd.versions.get(version.as_str()));
            if is_last == last && served == Some(&false) {
                let message = format!("version `{version}` of CRD `{name}` is not served");
                reporter.field(&csv.object, &entries.index(index).field("version"), message);
                if let Some(crd) = crds.get(name.as_str()) {
                    reporter.related(
                        &crd.object,
                        &Path::ROOT.field("spec.versions"),
                        "its versions are here",
                    );
                }
            }
        }
    }
}

fn read(object: Object<'_>) -> Crd<'_> {
    let text = |keys: &[&str]| object.root.dig(keys).and_then(Value::as_str).unwrap_or_default();
    let listed = object.root.dig(&["spec", "versions"]).into_iter().flat_map(Value::items);
    let mut versions = BTreeMap::new();
    for version in listed {
        let name = version.get("name").and_then(Value::as_str).unwrap_or_default();
        let served = version.get("served").and_then(Value::as_bool).unwrap_or_default();
        versions.entry(name).or_insert(served);
    }
    let single = text(&["spec", "version"]);
    if versions.is_empty() && !single.is_empty() {
        versions.insert(single, true);
    }
    Crd { object, group: text(&["spec", "group"]), kind: text(&["spec", "names", "kind"]), versions }
}
