use super::crds;
use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "owned-crd-missing",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The CSV owns a custom resource whose CRD, with that version and kind, is not in the bundle.",
    why: "operator-sdk and catalogues refuse the bundle; OLM would wait for the CRD for ever.",
    help: "add the CRD to manifests/, or mend the owned entry's name, version and kind",
    source: "operator-framework/api, pkg/validation/internal/bundle.go (validateOwnedCRDs); operator-registry, pkg/registry/bundle.go (AllProvidedAPIsInBundle)",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.customresourcedefinitions.owned");
    let crds = crds::all(context);
    for csv in &context.csvs {
        for (index, owned) in csv.typed.spec.customresourcedefinitions.owned.iter().enumerate() {
            let here = list.index(index);
            let mut report = |field: &str, message: String| {
                let path = if field.is_empty() { here } else { here.field(field) };
                reporter.field(&csv.object, &path, message);
            };
            if !owned.name.contains('.') {
                let message = format!("'{}' is no name of a CRD, which is PLURAL.GROUP", owned.name);
                report("name", message);
                continue;
            }
            let Some(crd) = crds.iter().find(|crd| crd.object.name() == owned.name) else {
                report("", format!("the owned CRD '{}' is not in the bundle", owned.name));
                continue;
            };
            if crd.versions.iter().all(|version| version.name != owned.version) {
                let message = format!(
                    "the owned CRD '{}' has no version '{}'; see {}",
                    owned.name, owned.version, crd.object.file.path
                );
                report("version", message);
            } else if owned.kind != crd.kind {
                let message =
                    format!("the owned CRD '{}' is of kind '{}', not '{}'", owned.name, crd.kind, owned.kind);
                report("kind", message);
            }
        }
    }
}
