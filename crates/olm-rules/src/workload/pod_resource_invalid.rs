use super::resources;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-resource-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A limit or request names an unsupported resource, is negative, or is not an integer where one is required.",
    impacts: &[Impact::DeploymentRejected],
    help: "use cpu, memory, ephemeral-storage, hugepages-SIZE or a name like `example.com/device`, with a quantity of 0 or more",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validateResourceRequirements", "validateContainerResourceName"],
    )
    .since("1.16")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    template.each_container(|container, path, _| {
        if let Some(requirements) = &container.resources {
            resources::validate(requirements, resources::container_name, &path.field("resources"), errors);
        }
    });
}
