use crate::kubernetes::numbers;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "deployment-strategy-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The update strategy of a Deployment is unknown or contradictory.",
    impacts: &[Impact::DeploymentRejected],
    help: "set type to `RollingUpdate` with maxSurge or maxUnavailable above 0, or to `Recreate` without rollingUpdate",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/apps/validation/validation.go",
        &["ValidateDeploymentStrategy"],
    )
    .since("1.16")],
    check: Check::Deployment(check),
};

fn check(deployment: &Deployment<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let Some(strategy) = &deployment.prepared.spec.strategy else { return };
    let path = deployment.spec_path.field("strategy");
    let kind = strategy.type_.as_deref().unwrap_or_default();
    errors.one_of(&path.field("type"), kind, &["RollingUpdate", "Recreate"]);
    let Some(update) = &strategy.rolling_update else { return };
    let path = path.field("rollingUpdate");
    if kind == "Recreate" {
        errors.add(&path, "unexpected `rollingUpdate`: not supported for type `Recreate`");
    }
    let (Some(unavailable), Some(surge), "RollingUpdate") =
        (&update.max_unavailable, &update.max_surge, kind)
    else {
        return;
    };
    let unavailable_path = path.field("maxUnavailable");
    numbers::count_or_percentage(unavailable, &unavailable_path, errors);
    numbers::count_or_percentage(surge, &path.field("maxSurge"), errors);
    numbers::at_most_everything(unavailable, &unavailable_path, errors);
    if numbers::is_nothing(unavailable) && numbers::is_nothing(surge) {
        errors.add(&unavailable_path, "`maxUnavailable` and `maxSurge` must not both be 0");
    }
}
