use crate::report::{Severity, Suite};
use crate::rules::kubernetes::Errors;
use crate::rules::workload::Deployment;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "deployment-count-negative",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A number of a Deployment is below zero.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "take the field out, or give a number from 0 on",
    source: "k8s.io/kubernetes, pkg/apis/apps/validation/validation.go (ValidateDeploymentSpec)",
    check: Check::Deployment(check),
};

fn check(deployment: &Deployment<'_>, errors: &mut Errors<'_, '_>) {
    let spec = &deployment.prepared.spec;
    for (name, value) in [
        ("replicas", spec.replicas),
        ("minReadySeconds", spec.min_ready_seconds),
        ("progressDeadlineSeconds", spec.progress_deadline_seconds),
    ] {
        errors.not_negative(&deployment.spec_path.field(name), value.unwrap_or_default());
    }
}
