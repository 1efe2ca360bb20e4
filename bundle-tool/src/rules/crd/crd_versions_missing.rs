use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Crd, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "crd-versions-missing",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A CRD has no version.",
    why: "The API server refuses the CRD.",
    help: "add a version with served, storage and a schema",
    source: "apiextensions-apiserver, pkg/apis/apiextensions/validation/validation.go (validateCustomResourceDefinitionSpec)",
    check: Check::Crd(check),
};

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    if crd.versions.is_empty() {
        reporter.field(&crd.object, &Path::ROOT.field("spec.versions"), "the CRD has no version");
    }
}
