use super::resources;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-level-resources-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The pod-level resources name an unsupported resource, or are less than the sum of the containers' resources.",
    impacts: &[Impact::DeploymentRejected],
    help: "use cpu, memory and hugepages-SIZE, and request at least the sum of the containers' requests",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validatePodResources"],
    )
    .since("1.34")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let Some(requirements) = &template.spec.resources else { return };
    let path = template.spec_path.field("resources");
    if template.os() == Some("windows") {
        errors.add(&path, "unexpected pod-level resources: not supported on Windows");
        return;
    }
    if requirements.claims.is_some() {
        errors.add(&path.field("claims"), "unexpected `claims`: not supported in pod-level resources");
    }
    resources::validate(requirements, resources::pod_name, &path, errors);
    resources::compare(requirements, &path, errors);
    resources::totals(template.spec, requirements, &path, errors);
}
