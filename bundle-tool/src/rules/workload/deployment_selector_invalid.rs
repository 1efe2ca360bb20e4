use crate::report::{Severity, Suite};
use crate::rules::kubernetes::{Errors, selectors};
use crate::rules::workload::Deployment;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "deployment-selector-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The selector of a Deployment is missing, empty or no selector.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "select the pods by the labels of the template: matchLabels with at least one label",
    source: "k8s.io/kubernetes, pkg/apis/apps/validation/validation.go (ValidateDeploymentSpec)",
    check: Check::Deployment(check),
};

fn check(deployment: &Deployment<'_>, errors: &mut Errors<'_, '_>) {
    let path = deployment.spec_path.field("selector");
    let selector = &deployment.prepared.spec.selector;
    if selectors::is_empty(selector) {
        errors.add(&path, "the selector selects nothing: it has no labels and no expressions");
    } else {
        selectors::validate(Some(selector), &path, errors);
    }
}
