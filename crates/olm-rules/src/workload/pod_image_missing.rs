use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-image-missing",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A container has no image.",
    impacts: &[Impact::DeploymentRejected],
    help: "set image to the container's image",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validateContainerCommon"],
    )
    .since("1.16")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    template.each_container(|container, path, _| {
        errors.required(&path.field("image"), container.image.as_deref().unwrap_or_default());
    });
}
