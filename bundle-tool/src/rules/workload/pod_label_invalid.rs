use crate::report::{Severity, Suite};
use crate::rules::kubernetes::{Errors, labels};
use crate::rules::workload::PodTemplate;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pod-label-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A label of a pod template has a key or value that Kubernetes does not take.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "mend the key or value; longer texts belong into annotations",
    source: "k8s.io/kubernetes, pkg/apis/core/validation/validation.go (ValidatePodTemplateSpec)",
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
    let labels = template.template.metadata.as_ref().and_then(|metadata| metadata.labels.as_ref());
    labels::validate(labels, &template.path.field("metadata.labels"), errors);
}
