use crate::prelude::*;
use crate::shared::deployments;

pub(crate) static RULE: Rule = Rule {
    id: "deployment-duplicate",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "Two Deployments of the install strategy have the same name.",
    impacts: &[Impact::Specific("OLM applies both in turn, and only the last one remains.")],
    help: "give each Deployment a unique name, or remove one",
    sources: &[Source::symbols(
        Project::OperatorLifecycleManager,
        "pkg/controller/install/deployment.go",
        &["installDeployments"],
    )
    .since("0.14")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    deployments::report_duplicates(csv, reporter);
}
