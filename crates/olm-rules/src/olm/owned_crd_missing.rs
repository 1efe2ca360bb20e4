use std::collections::{BTreeMap, BTreeSet};

use super::crds;
use crate::prelude::*;
use kube_yaml::{First, Tree, Value};
use olm_model::report::suggest::did_you_mean;
use olm_model::{Bundle, Content};

pub(crate) static RULE: Rule = Rule {
    id: "owned-crd-missing",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The CSV owns a custom resource whose CRD, with that version and kind, is not in the bundle.",
    impacts: &[
        Impact::SdkRejects,
        Impact::OpmRejects,
        Impact::Specific("OLM waits for the CRD, and the CSV stays `Pending`."),
    ],
    help: "add the CRD to manifests/, or correct name, version and kind of the owned entry",
    sources: &[
        Source::symbols(
            Project::OperatorFrameworkApi,
            "pkg/validation/internal/bundle.go",
            &["validateOwnedCRDs"],
        )
        .since("0.2"),
        Source::symbols(Project::OperatorRegistry, "pkg/registry/bundle.go", &["AllProvidedAPIsInBundle"])
            .since("1.0"),
    ],
    check: Check::Bundle(check),
};

fn missing(name: &str, crds: &BTreeMap<&str, crds::Crd<'_>>) -> String {
    let near = did_you_mean(name, crds.keys().copied());
    format!("CRD `{name}` is not included in the bundle{near}")
}

/// Returns the names of CRDs that other rules report: document-empty those behind an empty document, unsupported-kind those
/// without a kind.
fn reported_elsewhere(bundle: &Bundle) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    for file in bundle.manifests() {
        let Content::Documents { documents, first, .. } = &file.content else { continue };
        let is_hidden = *first == First::Empty;
        for root in documents.iter().take(1).map(Tree::root) {
            let text = |keys: &[&str]| root.dig(keys).and_then(Value::as_str).unwrap_or_default();
            let is_unnamed = text(&["apiVersion"]) == "apiextensions.k8s.io/v1" && root.get("kind").is_none();
            if is_hidden || is_unnamed {
                names.extend(root.dig(&["metadata", "name"]).and_then(Value::as_str));
            }
        }
    }
    names
}

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.customresourcedefinitions.owned");
    let crds = crds::by_name(context);
    let elsewhere = reported_elsewhere(context.bundle);
    for csv in &context.csvs {
        for (index, owned) in csv.typed.spec.customresourcedefinitions.owned.iter().enumerate() {
            let is_included = crds.get(owned.name.as_str()).is_some_and(|crd| {
                crd.versions.contains_key(owned.version.as_str()) && crd.kind == owned.kind
            });
            if is_included && owned.name.contains('.') || reporter.skip_if_full() {
                continue;
            }
            let here = list.index(index);
            let mut report = |field: &str, message: String| {
                let path = if field.is_empty() { here } else { here.field(field) };
                reporter.field(&csv.object, &path, message);
            };
            if !owned.name.contains('.') {
                let message = format!("invalid CRD name `{}`: must be `<plural>.<group>`", owned.name);
                report("name", message);
                continue;
            }
            let Some(crd) = crds.get(owned.name.as_str()) else {
                if elsewhere.contains(owned.name.as_str()) {
                    continue;
                }
                report("", missing(&owned.name, &crds));
                continue;
            };
            if !crd.versions.contains_key(owned.version.as_str()) {
                let message = format!(
                    "unknown version `{}` of CRD `{}`{}",
                    owned.version,
                    owned.name,
                    did_you_mean(&owned.version, crd.versions.keys().copied())
                );
                report("version", message);
            } else if owned.kind != crd.kind {
                let message = format!(
                    "unexpected kind `{}`: CRD `{}` is of kind `{}`",
                    owned.kind, owned.name, crd.kind
                );
                report("kind", message);
            }
        }
    }
}
