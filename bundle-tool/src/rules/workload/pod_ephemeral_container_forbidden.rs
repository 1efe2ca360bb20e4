use crate::report::{Severity, Suite};
use crate::rules::kubernetes::Errors;
use crate::rules::workload::PodTemplate;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pod-ephemeral-container-forbidden",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A pod template has ephemeral containers, which are only added to running pods.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "take ephemeralContainers out",
    source: "k8s.io/kubernetes, pkg/apis/core/validation/validation.go (ValidatePodTemplateSpec)",
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
    if template.spec.ephemeral_containers.as_ref().is_some_and(|list| !list.is_empty()) {
        let path = template.spec_path.field("ephemeralContainers");
        errors.add(&path, "a pod template has no ephemeral containers");
    }
}
