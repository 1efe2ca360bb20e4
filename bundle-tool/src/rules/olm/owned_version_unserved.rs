use super::crds;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "owned-version-unserved",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The CSV owns a version of a custom resource that its CRD does not serve, and another version of it further down.",
    why: "OLM only looks at the last entry of a CRD; consoles offer the others all the same, and nobody can use them.",
    help: "take the entry out, or serve the version",
    source: "operator-framework/api, pkg/operators/v1alpha1/clusterserviceversion_types.go (GetAllCRDDescriptions)",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    crds::report_unserved(context, reporter, false);
}
