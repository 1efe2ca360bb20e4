use crate::prelude::*;
use olm_model::version;
use olm_model::version::Version;

pub(crate) static RULE: Rule = Rule {
    id: "hub-version-missing",
    suite: Suite::OperatorHubV2,
    severity: Severity::Error,
    what: "The CSV has no version, or version 0.0.0.",
    impacts: &[Impact::SubmissionRejected],
    help: "set spec.version to the version of the operator",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/validation/internal/operatorhub.go",
        &["checkSpecVersion"],
    )
    .since("0.8")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let version = &csv.typed.spec.version;
    if version.is_empty() || version::tolerant(version).is_ok_and(|version| version == Version::new(0, 0, 0))
    {
        reporter.field(&csv.object, &Path::ROOT.field("spec.version"), "spec.version is not set or is 0.0.0");
    }
}
