use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "webhook-deployment-unknown",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "A webhook names a Deployment that the install strategy does not have.",
    why: "OLM registers the webhook all the same, with a Service that does not exist and without a certificate: every request that it should see fails.",
    help: "write the name of the Deployment that serves the webhook into deploymentName",
    source: "operator-lifecycle-manager, pkg/controller/install/certresources.go (certResourcesForDeployment)",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.webhookdefinitions");
    let deployments = &csv.typed.spec.install.spec.deployments;
    for (index, webhook) in csv.typed.spec.webhookdefinitions.iter().enumerate() {
        if !deployments.is_empty() && deployments.iter().all(|other| other.name != webhook.deployment_name) {
            let entry = list.index(index);
            let message = format!("there is no Deployment '{}'", webhook.deployment_name);
            reporter.field(&csv.object, &entry.field("deploymentName"), message);
        }
    }
}
