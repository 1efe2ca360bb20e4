use std::collections::BTreeSet;

use crate::model::yaml::Path;
use crate::report::{Impact, Project, Severity, Source, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "webhook-deployment-unknown",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "A webhook names a Deployment that is not in the install strategy.",
    impacts: &[Impact::Specific(
        "OLM registers the webhook without a Service and a certificate, and every request that matches the webhook fails.",
    )],
    help: "set deploymentName to the Deployment that serves the webhook",
    sources: &[Source::symbols(
        Project::OperatorLifecycleManager,
        "pkg/controller/install/certresources.go",
        &["certResourcesForDeployment"],
    )],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.webhookdefinitions");
    let deployments = &csv.typed.spec.install.spec.deployments;
    let names: BTreeSet<_> = deployments.iter().map(|deployment| &deployment.name).collect();
    for (index, webhook) in csv.typed.spec.webhookdefinitions.iter().enumerate() {
        if !deployments.is_empty() && !names.contains(&webhook.deployment_name) {
            let entry = list.index(index);
            if reporter.skip_if_full() {
                continue;
            }
            let message = super::unknown_deployment(&webhook.deployment_name, deployments);
            reporter.field(&csv.object, &entry.field("deploymentName"), message);
        }
    }
}
