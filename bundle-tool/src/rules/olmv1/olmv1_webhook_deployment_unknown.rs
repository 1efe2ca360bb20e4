use std::collections::HashSet;

use crate::model::yaml::Path;
use crate::report::{Impact, Project, Severity, Source, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
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
    )],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.webhookdefinitions");
    let deployments: HashSet<_> =
        csv.typed.spec.install.spec.deployments.iter().map(|deployment| &deployment.name).collect();
    for (index, webhook) in csv.typed.spec.webhookdefinitions.iter().enumerate() {
        if !deployments.contains(&webhook.deployment_name) {
            let message = format!("unknown Deployment `{}`", webhook.deployment_name);
            reporter.field(&csv.object, &list.index(index).field("deploymentName"), message);
        }
    }
}
