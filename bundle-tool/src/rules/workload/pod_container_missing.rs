use crate::report::{Severity, Suite};
use crate::rules::kubernetes::Errors;
use crate::rules::workload::PodTemplate;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pod-container-missing",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A pod template has no container.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "give it the operator's container",
    source: "k8s.io/kubernetes, pkg/apis/core/validation/validation.go (validateContainers)",
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
    if template.spec.containers.is_empty() {
        errors.add(&template.spec_path.field("containers"), "the pod has no container");
    }
}
