use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "api-service-deployment-unknown",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The CSV owns an aggregated API whose Deployment is not in the install strategy.",
    why: "OLM finds the requirement not met: the CSV stays Pending with DeploymentNotFound.",
    help: "write the name of the Deployment that serves the API into deploymentName",
    source: "operator-lifecycle-manager, pkg/controller/operators/olm/requirements.go (requirementStatus)",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.apiservicedefinitions.owned");
    let deployments = &csv.typed.spec.install.spec.deployments;
    for (index, service) in csv.typed.spec.apiservicedefinitions.owned.iter().enumerate() {
        if deployments.iter().all(|deployment| deployment.name != service.deployment_name) {
            let entry = list.index(index);
            let message = format!("there is no Deployment '{}'", service.deployment_name);
            reporter.field(&csv.object, &entry.field("deploymentName"), message);
        }
    }
}
