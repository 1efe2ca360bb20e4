use super::resources;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-resource-request-exceeds-limit",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A request of a container exceeds its limit, or differs from the limit of a resource that cannot be overcommitted.",
    impacts: &[Impact::DeploymentRejected],
    help: "lower the request or raise the limit; set them to the same value for devices and huge pages",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validateResourceRequirements"],
    )
    .since("1.16")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    template.each_container(|container, path, _| {
        if let Some(requirements) = &container.resources {
            resources::compare(requirements, &path.field("resources"), errors);
        }
    });
}
