use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-container-missing",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A pod template has no containers.",
    impacts: &[Impact::DeploymentRejected],
    help: "add the operator's container",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validateContainers"],
    )
    .since("1.16")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    if template.spec.containers.is_empty() {
        errors.add(&template.spec_path.field("containers"), "missing containers: at least one is required");
    }
}
