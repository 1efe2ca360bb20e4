use crate::report::{Severity, Suite};
use crate::rules::kubernetes::Errors;
use crate::rules::workload::PodTemplate;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pod-privilege-conflict",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A container forbids the escalation of privileges and asks for them: privileged, or CAP_SYS_ADMIN.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "take privileged and CAP_SYS_ADMIN out, or allowPrivilegeEscalation: false",
    source: "k8s.io/kubernetes, pkg/apis/core/validation/validation.go (ValidateSecurityContext)",
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
    template.each_container(|container, path, _| {
        let Some(security) = &container.security_context else { return };
        if security.allow_privilege_escalation != Some(false) {
            return;
        }
        let path = path.field("securityContext");
        if security.privileged == Some(true) {
            errors.add(&path.field("privileged"), "privileged contradicts allowPrivilegeEscalation: false");
        }
        let added = security.capabilities.as_ref().and_then(|capabilities| capabilities.add.as_ref());
        if added.into_iter().flatten().any(|capability| capability == "CAP_SYS_ADMIN") {
            errors.add(
                &path.field("capabilities.add"),
                "CAP_SYS_ADMIN contradicts allowPrivilegeEscalation: false",
            );
        }
    });
}
