use super::resources;
use crate::report::{Severity, Suite};
use crate::rules::kubernetes::Errors;
use crate::rules::workload::PodTemplate;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pod-resource-request-exceeds-limit",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A container requests more of a resource than its limit, or something else than the limit of a resource that cannot be shared.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "lower the request or raise the limit; for devices and huge pages make them equal",
    source: "k8s.io/kubernetes, pkg/apis/core/validation/validation.go (validateResourceRequirements)",
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
    template.each_container(|container, path, _| {
        if let Some(requirements) = &container.resources {
            resources::compare(requirements, &path.field("resources"), errors);
        }
    });
}
