use std::collections::BTreeSet;

use crate::model::yaml::Path;
use crate::report::{Impact, Project, Severity, Source, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "api-service-deployment-unknown",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The CSV owns an aggregated API whose Deployment is not in the install strategy.",
    impacts: &[Impact::CsvPending],
    help: "set deploymentName to the Deployment that serves the API",
    sources: &[Source::symbols(
        Project::OperatorLifecycleManager,
        "pkg/controller/operators/olm/requirements.go",
        &["requirementStatus"],
    )],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.apiservicedefinitions.owned");
    let deployments = &csv.typed.spec.install.spec.deployments;
    let names: BTreeSet<_> = deployments.iter().map(|deployment| &deployment.name).collect();
    for (index, service) in csv.typed.spec.apiservicedefinitions.owned.iter().enumerate() {
        if !names.contains(&service.deployment_name) {
            let entry = list.index(index);
            if reporter.skip_if_full() {
                continue;
            }
            let message = super::unknown_deployment(&service.deployment_name, deployments);
            reporter.field(&csv.object, &entry.field("deploymentName"), message);
        }
    }
}
