use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "hub-icon-missing",
    suite: Suite::OperatorHubV2,
    severity: Severity::Warning,
    what: "The CSV has no icon.",
    impacts: &[Impact::Specific("OperatorHub.io shows a placeholder.")],
    help: "add an SVG, PNG, JPEG or GIF icon in base64 to spec.icon",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/validation/internal/operatorhub.go",
        &["checkSpecIcon"],
    )
    .since("0.4")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    if csv.typed.spec.icon.is_empty() {
        reporter.field(&csv.object, &Path::ROOT.field("spec.icon"), "spec.icon is not set");
    }
}
