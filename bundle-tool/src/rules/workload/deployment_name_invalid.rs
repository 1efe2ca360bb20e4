use crate::report::{Severity, Suite};
use crate::rules::kubernetes::{Errors, names};
use crate::rules::workload::Deployment;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "deployment-name-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A Deployment of the install strategy has no name, or one that is no DNS name.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "use lower case letters, digits, `-` and `.`, at most 253 of them",
    source: "k8s.io/kubernetes, pkg/apis/apps/validation/validation.go (ValidateDeploymentName)",
    check: Check::Deployment(check),
};

fn check(deployment: &Deployment<'_>, errors: &mut Errors<'_, '_>) {
    let path = deployment.path.field("name");
    if errors.required(&path, &deployment.written.name) {
        errors.check(&path, names::dns_subdomain(&deployment.written.name));
    }
}
