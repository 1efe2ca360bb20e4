use crate::kubernetes::names;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-container-name-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A container has no name, or an invalid one.",
    impacts: &[Impact::DeploymentRejected],
    help: "use at most 63 lowercase letters, digits and `-`",
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
        let path = path.field("name");
        if errors.required(&path, &container.name) {
            errors.check(&path, names::dns_label(&container.name));
        }
    });
}
