use k8s_openapi::api::core::v1::ResourceRequirements;

use super::resources;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-overhead-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "`overhead` of a pod contains an unsupported resource or a negative quantity.",
    impacts: &[Impact::DeploymentRejected],
    help: "remove `overhead`: Kubernetes sets it from the RuntimeClass",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validateOverhead"],
    )
    .since("1.18")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let Some(overhead) = &template.spec.overhead else { return };
    let requirements =
        ResourceRequirements { limits: Some(overhead.clone()), ..ResourceRequirements::default() };
    // The API server validates them as limits.
    resources::validate_list(
        requirements.limits.as_ref(),
        resources::container_name,
        &template.spec_path.field("overhead"),
        errors,
    );
    resources::huge_pages_alone(&requirements, &template.spec_path.field("overhead"), errors);
}
