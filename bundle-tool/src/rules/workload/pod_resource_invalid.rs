use super::resources;
use crate::report::{Severity, Suite};
use crate::rules::kubernetes::Errors;
use crate::rules::workload::PodTemplate;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pod-resource-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A limit or request is for a resource that containers do not have, is negative, or is no whole number where one is needed.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "use cpu, memory, ephemeral-storage, hugepages-SIZE or example.com/device with a positive amount",
    source: "k8s.io/kubernetes, pkg/apis/core/validation/validation.go (validateResourceRequirements, validateContainerResourceName)",
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
    template.each_container(|container, path, _| {
        if let Some(requirements) = &container.resources {
            resources::validate(requirements, resources::container_name, &path.field("resources"), errors);
        }
    });
}
