use crate::report::{Severity, Suite};
use crate::rules::kubernetes::Errors;
use crate::rules::workload::PodTemplate;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pod-restart-policy-unsupported",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The pods of a Deployment have another restart policy than Always.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "take restartPolicy out",
    source: "k8s.io/kubernetes, pkg/apis/apps/validation/validation.go (ValidatePodTemplateSpecForReplicaSet)",
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
    let policy = template.spec.restart_policy.as_deref().unwrap_or_default();
    if policy != "Always" {
        let message = format!("'{policy}' is not Always, which is all that a Deployment's pods can have");
        errors.add(&template.spec_path.field("restartPolicy"), message);
    }
}
