use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "deployment-deadline-too-short",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The progress deadline of a Deployment is not longer than its minimum ready time.",
    impacts: &[Impact::DeploymentRejected],
    help: "set progressDeadlineSeconds (default: 600) to more than minReadySeconds",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/apps/validation/validation.go",
        &["ValidateDeploymentSpec"],
    )
    .since("1.16")],
    check: Check::Deployment(check),
};

fn check(deployment: &Deployment<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let spec = &deployment.prepared.spec;
    let (deadline, ready) =
        (spec.progress_deadline_seconds.unwrap_or_default(), spec.min_ready_seconds.unwrap_or_default());
    if deadline >= 0 && deadline <= ready {
        let message =
            format!("invalid deadline {deadline}: must be greater than `minReadySeconds`, which is {ready}");
        errors.add(&deployment.spec_path.field("progressDeadlineSeconds"), message);
    }
}
