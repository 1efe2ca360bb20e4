use crate::report::{Severity, Suite};
use crate::rules::kubernetes::Errors;
use crate::rules::workload::PodTemplate;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pod-active-deadline-unsupported",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The pods of a Deployment have a deadline after which they end.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "take activeDeadlineSeconds out: it is for Jobs",
    source: "k8s.io/kubernetes, pkg/apis/apps/validation/validation.go (ValidatePodTemplateSpecForReplicaSet)",
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
    if template.spec.active_deadline_seconds.is_some() {
        let path = template.spec_path.field("activeDeadlineSeconds");
        errors.add(&path, "the pods of a Deployment have no activeDeadlineSeconds");
    }
}
