use crate::prelude::*;
use crate::shared::deployments;

pub(crate) static RULE: Rule = Rule {
    id: "olmv1-webhook-deployment-unknown",
    suite: Suite::Olmv1,
    severity: Severity::Error,
    what: "A webhook names a Deployment that is not in the install strategy.",
    impacts: &[Impact::OlmV1Rejects],
    help: "set deploymentName to the Deployment that serves the webhook",
    sources: &[Source::symbols(
        Project::OperatorController,
        "internal/operator-controller/rukpak/render/registryv1/validators/validator.go",
        &["CheckWebhookDeploymentReferentialIntegrity"],
    )
    .since("1.6")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let names = csv.typed.spec.webhookdefinitions.iter().map(|webhook| &webhook.deployment_name);
    deployments::report_unknown(csv, "spec.webhookdefinitions", names, reporter);
}
