use crate::kubernetes::labels;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-label-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A label of a pod template has an invalid key or value.",
    impacts: &[Impact::DeploymentRejected],
    help: "correct the key or value, or move the value to an annotation",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["ValidatePodTemplateSpec"],
    )
    .since("1.16")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let labels = template.template.metadata.as_ref().and_then(|metadata| metadata.labels.as_ref());
    labels::validate(labels, &template.path.field("metadata.labels"), errors);
}
