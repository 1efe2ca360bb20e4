use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Crd, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "crd-scope-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The scope of a CRD is missing, or neither `Namespaced` nor `Cluster`.",
    why: "The API server refuses the CRD.",
    help: "set spec.scope to Namespaced or Cluster",
    source: "apiextensions-apiserver, pkg/apis/apiextensions/validation/validation.go (validateEnumStrings)",
    check: Check::Crd(check),
};

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    let scope = crd.text(&["scope"]);
    let message = match scope {
        "Namespaced" | "Cluster" => return,
        "" => "the scope is missing".to_owned(),
        _ => format!("'{scope}' is no scope"),
    };
    reporter.field(&crd.object, &Path::ROOT.field("spec.scope"), message);
}
