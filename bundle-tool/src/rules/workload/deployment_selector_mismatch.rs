use crate::report::{Severity, Suite};
use crate::rules::kubernetes::{Errors, selectors};
use crate::rules::workload::Deployment;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "deployment-selector-mismatch",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The selector of a Deployment does not match the labels of its own pods.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "give the template the labels that the selector asks for",
    source: "k8s.io/kubernetes, pkg/apis/apps/validation/validation.go (ValidatePodTemplateSpecForReplicaSet)",
    check: Check::Deployment(check),
};

fn check(deployment: &Deployment<'_>, errors: &mut Errors<'_, '_>) {
    let spec = &deployment.prepared.spec;
    let labels = spec.template.metadata.as_ref().and_then(|metadata| metadata.labels.as_ref());
    let sound = spec.selector.match_expressions.iter().flatten().all(|requirement| {
        matches!(requirement.operator.as_str(), "In" | "NotIn" | "Exists" | "DoesNotExist")
    });
    if sound && !selectors::matches(&spec.selector, labels) {
        let path = deployment.spec_path.field("template");
        errors.add(&path.field("metadata.labels"), "the Deployment's selector does not match these labels");
    }
}
