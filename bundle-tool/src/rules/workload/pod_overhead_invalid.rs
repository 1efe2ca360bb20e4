use k8s_openapi::api::core::v1::ResourceRequirements;

use super::resources;
use crate::report::{Severity, Suite};
use crate::rules::kubernetes::Errors;
use crate::rules::workload::PodTemplate;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pod-overhead-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The overhead of a pod is for a resource that containers do not have, or is negative.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "take overhead out: Kubernetes sets it from the RuntimeClass",
    source: "k8s.io/kubernetes, pkg/apis/core/validation/validation.go (validateOverhead)",
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
    let Some(overhead) = &template.spec.overhead else { return };
    let requirements =
        ResourceRequirements { limits: Some(overhead.clone()), ..ResourceRequirements::default() };
    // The API server calls them limits of the overhead.
    resources::validate_list(
        requirements.limits.as_ref(),
        resources::container_name,
        &template.spec_path.field("overhead"),
        errors,
    );
    resources::huge_pages_alone(&requirements, &template.spec_path.field("overhead"), errors);
}
