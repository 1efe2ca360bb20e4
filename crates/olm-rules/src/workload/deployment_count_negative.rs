use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "deployment-count-negative",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A number of a Deployment is negative.",
    impacts: &[Impact::DeploymentRejected],
    help: "remove the field, or set it to 0 or more",
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
    for (name, value) in [
        ("replicas", spec.replicas),
        ("minReadySeconds", spec.min_ready_seconds),
        ("progressDeadlineSeconds", spec.progress_deadline_seconds),
    ] {
        errors.not_negative(&deployment.spec_path.field(name), value.unwrap_or_default());
    }
}
