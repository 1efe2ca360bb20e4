use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Crd, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "crd-version-unserved",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "No version of a CRD is served.",
    why: "The CRD is accepted, and nobody can read or write its objects.",
    help: "set served: true for at least one version",
    source: "apiextensions-apiserver, pkg/apiserver/customresource_handler.go",
    check: Check::Crd(check),
};

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    if !crd.versions.is_empty() && !crd.versions.iter().any(|version| version.flag("served")) {
        reporter.field(&crd.object, &Path::ROOT.field("spec.versions"), "no version is served");
    }
}
