use crate::report::{Severity, Suite};
use crate::rules::kubernetes::{Errors, labels};
use crate::rules::workload::PodTemplate;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pod-node-selector-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A label of the node selector has a key or value that Kubernetes does not take.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "select nodes by their labels, such as kubernetes.io/os: linux",
    source: "k8s.io/kubernetes, pkg/apis/core/validation/validation.go (ValidatePodSpec)",
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
    labels::validate(template.spec.node_selector.as_ref(), &template.spec_path.field("nodeSelector"), errors);
}
