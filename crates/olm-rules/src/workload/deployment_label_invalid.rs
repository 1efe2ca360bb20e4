use crate::kubernetes::labels;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "deployment-label-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A label of a Deployment has an invalid key or value.",
    impacts: &[Impact::DeploymentRejected],
    help: "correct the key or value, or move the value to an annotation",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/apps/validation/validation.go",
        &["ValidateDeployment"],
    )
    .since("1.16")],
    check: Check::Deployment(check),
};

fn check(deployment: &Deployment<'_>, errors: &mut ErrorReporter<'_, '_>) {
    labels::validate(Some(&deployment.written.label), &deployment.path.field("label"), errors);
}
