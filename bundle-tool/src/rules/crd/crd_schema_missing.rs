use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Crd, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "crd-schema-missing",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A version of a CRD has no schema.",
    why: "The API server refuses the CRD.",
    help: "describe the version's objects in schema.openAPIV3Schema",
    source: "apiextensions-apiserver, pkg/apis/apiextensions/validation/validation.go (validateCustomResourceDefinitionSpec)",
    check: Check::Crd(check),
};

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    let versions = Path::ROOT.field("spec.versions");
    for (index, version) in crd.versions.iter().enumerate() {
        if version.schema.is_none() {
            let item = versions.index(index);
            let message = format!("the version '{}' has no schema", version.name());
            reporter.field(&crd.object, &item.field("schema.openAPIV3Schema"), message);
        }
    }
}
