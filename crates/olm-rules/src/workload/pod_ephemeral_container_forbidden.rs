use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-ephemeral-container-forbidden",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A pod template has ephemeral containers, which can only be added to running pods.",
    impacts: &[Impact::DeploymentRejected],
    help: "remove ephemeralContainers",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["ValidatePodTemplateSpec"],
    )
    .since("1.16")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    if template.spec.ephemeral_containers.as_ref().is_some_and(|list| !list.is_empty()) {
        let path = template.spec_path.field("ephemeralContainers");
        errors.add(&path, "unexpected `ephemeralContainers`: not supported in a pod template");
    }
}
