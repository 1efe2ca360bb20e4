use super::crds;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "owned-version-unserved",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The CSV owns a version of a custom resource that its CRD does not serve, followed by an entry for another version of the CRD.",
    impacts: &[Impact::Specific(
        "OLM validates only the last entry of a CRD, but consoles offer all of them.",
    )],
    help: "remove the entry, or set `served: true` for the version",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/operators/v1alpha1/clusterserviceversion_types.go",
        &["GetAllCRDDescriptions"],
    )
    .since("0.2")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    crds::report_unserved(context, reporter, false);
}
