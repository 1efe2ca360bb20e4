use crate::report::{Severity, Suite};
use crate::rules::kubernetes::{Errors, labels};
use crate::rules::workload::Deployment;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "deployment-label-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A label of a Deployment has a key or value that Kubernetes does not take.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "mend the key or value; longer texts belong into annotations",
    source: "k8s.io/kubernetes, pkg/apis/apps/validation/validation.go (ValidateDeployment)",
    check: Check::Deployment(check),
};

fn check(deployment: &Deployment<'_>, errors: &mut Errors<'_, '_>) {
    labels::validate(Some(&deployment.written.label), &deployment.path.field("label"), errors);
}
