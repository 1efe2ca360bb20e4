use crate::kubernetes::selectors;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "deployment-selector-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The selector of a Deployment is missing, empty or invalid.",
    impacts: &[Impact::DeploymentRejected],
    help: "set selector.matchLabels to labels of the pod template",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/apps/validation/validation.go",
        &["ValidateDeploymentSpec"],
    )
    .since("1.16")],
    check: Check::Deployment(check),
};

fn check(deployment: &Deployment<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let path = deployment.spec_path.field("selector");
    let selector = &deployment.prepared.spec.selector;
    if selectors::is_empty(selector) {
        errors.add(&path, "empty selector: must have at least one label or expression");
    } else {
        selectors::validate(Some(selector), &path, errors);
    }
}
