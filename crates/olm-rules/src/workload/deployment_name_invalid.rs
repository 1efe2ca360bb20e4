use crate::kubernetes::names;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "deployment-name-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A Deployment of the install strategy has no name, or an invalid one.",
    impacts: &[Impact::DeploymentRejected],
    help: "use at most 253 lowercase letters, digits, `-` and `.`",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/apps/validation/validation.go",
        &["ValidateDeploymentName"],
    )
    .since("1.16")],
    check: Check::Deployment(check),
};

fn check(deployment: &Deployment<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let path = deployment.path.field("name");
    if errors.required(&path, &deployment.written.name) {
        errors.check(&path, names::dns_subdomain(&deployment.written.name));
    }
}
