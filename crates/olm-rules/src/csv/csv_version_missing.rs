use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "csv-version-missing",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The CSV has no `spec.version`.",
    impacts: &[Impact::Specific(
        "OLM treats the version as 0.0.0, and dependencies on a version range do not match it.",
    )],
    help: "set spec.version to the version of the operator",
    sources: &[Source::file(Project::OperatorFrameworkApi, "pkg/lib/version/version.go").since("0.2")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    if csv.dig(&["spec", "version"]).is_none() {
        reporter.field(&csv.object, &Path::ROOT.field("spec.version"), "spec.version is not set");
    }
}
