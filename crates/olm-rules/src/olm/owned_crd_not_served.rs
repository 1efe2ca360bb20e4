use super::crds;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "owned-crd-not-served",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The CSV owns a version of a custom resource that its CRD does not serve. If the CSV owns several versions of a CRD, this rule applies to the last entry.",
    impacts: &[Impact::CsvPending],
    help: "set `served: true` for the version, or own a version that is served",
    sources: &[Source::symbols(
        Project::OperatorLifecycleManager,
        "pkg/controller/operators/olm/requirements.go",
        &["requirementStatus"],
    )
    .since("0.14")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    crds::report_unserved(context, reporter, true);
}
