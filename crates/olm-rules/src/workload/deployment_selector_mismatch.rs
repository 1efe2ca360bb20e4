use crate::kubernetes::selectors;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "deployment-selector-mismatch",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The selector of a Deployment does not match the labels of its pod template.",
    impacts: &[Impact::DeploymentRejected],
    help: "add the labels of the selector to the pod template",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/apps/validation/validation.go",
        &["ValidatePodTemplateSpecForReplicaSet"],
    )
    .since("1.16")],
    check: Check::Deployment(check),
};

fn check(deployment: &Deployment<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let spec = &deployment.prepared.spec;
    let labels = spec.template.metadata.as_ref().and_then(|metadata| metadata.labels.as_ref());
    let valid = spec.selector.match_expressions.iter().flatten().all(|requirement| {
        matches!(requirement.operator.as_str(), "In" | "NotIn" | "Exists" | "DoesNotExist")
    });
    if valid && !selectors::matches(&spec.selector, labels) {
        let path = deployment.spec_path.field("template");
        errors.add(&path.field("metadata.labels"), "labels do not match the selector of the Deployment");
    }
}
