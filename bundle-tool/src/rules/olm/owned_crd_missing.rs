use crate::model::yaml::{Path, Value};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "owned-crd-missing",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The CSV owns a custom resource whose CRD, at that version, is not in the bundle.",
    why: "OLM waits for the CRD for ever: the CSV stays Pending with RequirementsNotMet.",
    help: "add the CRD to manifests/, or mend the owned entry's name and version",
    source: "operator-framework/api, pkg/validation/internal/bundle.go (validateOwnedCRDs)",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.customresourcedefinitions.owned");
    let crds: Vec<_> = context.bundle.of_kind("CustomResourceDefinition").collect();
    for csv in &context.csvs {
        for (index, owned) in csv.typed.spec.customresourcedefinitions.owned.iter().enumerate() {
            let here = list.index(index);
            let Some(crd) = crds.iter().find(|crd| crd.name() == owned.name) else {
                let message = format!("the owned CRD '{}' is not in the bundle", owned.name);
                reporter.field(&csv.object, &here, message);
                continue;
            };
            if !versions(crd.root).any(|version| version == owned.version) {
                let message = format!(
                    "the owned CRD '{}' has no version '{}'; see {}",
                    owned.name, owned.version, crd.file.path
                );
                reporter.field(&csv.object, &here.field("version"), message);
            }
        }
    }
}

/// The names of a CRD's versions, in v1's form and in v1beta1's.
fn versions(crd: Value<'_>) -> impl Iterator<Item = &str> {
    let listed = crd.dig(&["spec", "versions"]).into_iter().flat_map(Value::items);
    let single = crd.dig(&["spec", "version"]).and_then(Value::as_str);
    listed.filter_map(|version| version.get("name")?.as_str()).chain(single)
}
