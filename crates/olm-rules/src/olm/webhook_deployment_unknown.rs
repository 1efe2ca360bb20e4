use crate::prelude::*;
use crate::shared::deployments;

pub(crate) static RULE: Rule = Rule {
    id: "webhook-deployment-unknown",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "A webhook names a Deployment that is not in the install strategy.",
    impacts: &[Impact::Specific(
        "OLM registers the webhook without a Service or a certificate, and every request that matches the webhook fails.",
    )],
    help: "set deploymentName to the Deployment that serves the webhook",
    sources: &[Source::symbols(
        Project::OperatorLifecycleManager,
        "pkg/controller/install/certresources.go",
        &["certResourcesForDeployment"],
    )
    .since("0.15")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    // deployment-missing reports a strategy without Deployments.
    if !csv.typed.spec.install.spec.deployments.is_empty() {
        let names = csv.typed.spec.webhookdefinitions.iter().map(|webhook| &webhook.deployment_name);
        deployments::report_unknown(csv, "spec.webhookdefinitions", names, reporter);
    }
}
