use crate::report::{Severity, Suite};
use crate::rules::kubernetes::Errors;
use crate::rules::workload::Deployment;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "deployment-deadline-too-short",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The progress deadline of a Deployment is not longer than the time its pods must be ready for.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "make progressDeadlineSeconds (600 without it) larger than minReadySeconds",
    source: "k8s.io/kubernetes, pkg/apis/apps/validation/validation.go (ValidateDeploymentSpec)",
    check: Check::Deployment(check),
};

fn check(deployment: &Deployment<'_>, errors: &mut Errors<'_, '_>) {
    let spec = &deployment.prepared.spec;
    let (deadline, ready) =
        (spec.progress_deadline_seconds.unwrap_or_default(), spec.min_ready_seconds.unwrap_or_default());
    if deadline >= 0 && deadline <= ready {
        let message = format!("the deadline of {deadline} s is not longer than minReadySeconds, {ready} s");
        errors.add(&deployment.spec_path.field("progressDeadlineSeconds"), message);
    }
}
