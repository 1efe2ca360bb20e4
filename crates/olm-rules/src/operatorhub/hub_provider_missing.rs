use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "hub-provider-missing",
    suite: Suite::OperatorHubV2,
    severity: Severity::Error,
    what: "The CSV has no provider name.",
    impacts: &[Impact::SubmissionRejected],
    help: "set spec.provider.name",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/validation/internal/operatorhub.go",
        &["checkSpecProviderName"],
    )
    .since("0.4")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    if csv.typed.spec.provider.name.trim().is_empty() {
        reporter.field(
            &csv.object,
            &Path::ROOT.field("spec.provider.name"),
            "missing required field `spec.provider.name`",
        );
    }
}
