use crate::prelude::*;
use crate::shared::deployments;

pub(crate) static RULE: Rule = Rule {
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
    )
    .since("0.14")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let names = csv.typed.spec.apiservicedefinitions.owned.iter().map(|service| &service.deployment_name);
    deployments::report_unknown(csv, "spec.apiservicedefinitions.owned", names, reporter);
}
