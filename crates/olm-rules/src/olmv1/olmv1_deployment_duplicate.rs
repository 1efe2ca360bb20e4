use crate::prelude::*;
use crate::shared::deployments;

pub(crate) static RULE: Rule = Rule {
    id: "olmv1-deployment-duplicate",
    suite: Suite::Olmv1,
    severity: Severity::Error,
    what: "Two Deployments of the install strategy have the same name.",
    impacts: &[Impact::OlmV1Rejects],
    help: "give each Deployment a unique name, or remove one",
    sources: &[Source::symbols(
        Project::OperatorController,
        "internal/operator-controller/rukpak/render/registryv1/validators/validator.go",
        &["CheckDeploymentSpecUniqueness"],
    )
    .since("1.3")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    deployments::report_duplicates(csv, reporter);
}
