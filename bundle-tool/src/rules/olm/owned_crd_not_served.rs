use super::crds;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "owned-crd-not-served",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The CSV owns a version of a custom resource that its CRD does not serve; of several versions of one CRD, the last entry.",
    why: "OLM finds the requirement not met: the CSV stays Pending.",
    help: "set served: true for the version, or own one that is served",
    source: "operator-lifecycle-manager, pkg/controller/operators/olm/requirements.go (requirementStatus)",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    crds::report_unserved(context, reporter, true);
}
