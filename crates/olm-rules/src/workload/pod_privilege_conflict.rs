use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-privilege-conflict",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A container disallows privilege escalation, but is privileged or adds `CAP_SYS_ADMIN`.",
    impacts: &[Impact::DeploymentRejected],
    help: "remove privileged and CAP_SYS_ADMIN, or `allowPrivilegeEscalation: false`",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["ValidateSecurityContext"],
    )
    .since("1.16")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    template.each_container(|container, path, _| {
        let Some(security) = &container.security_context else { return };
        if security.allow_privilege_escalation != Some(false) {
            return;
        }
        let path = path.field("securityContext");
        if security.privileged == Some(true) {
            errors.add(
                &path.field("privileged"),
                "`privileged` and `allowPrivilegeEscalation: false` are mutually exclusive",
            );
        }
        let added = security.capabilities.as_ref().and_then(|capabilities| capabilities.add.as_ref());
        if added.into_iter().flatten().any(|capability| capability == "CAP_SYS_ADMIN") {
            errors.add(
                &path.field("capabilities.add"),
                "`CAP_SYS_ADMIN` and `allowPrivilegeEscalation: false` are mutually exclusive",
            );
        }
    });
}
