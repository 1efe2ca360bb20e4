use super::scc::{self, Concern};
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "scc-privileged",
    suite: Suite::Openshift,
    severity: Severity::Error,
    what: "A container is privileged, or allows privilege escalation.",
    impacts: &[Impact::PodsRejected],
    help: "remove privileged, and set allowPrivilegeEscalation to `false`",
    sources: &[Source::symbols(
        Project::OpenShiftLibrary,
        "pkg/securitycontextconstraints/sccmatching/provider.go",
        &["simpleProvider.ValidateContainerSecurityContext"],
    )
    .since("4.11")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    scc::each_pod(context, reporter, |pod, allowed, errors| {
        if allowed.contains(&Concern::Privilege) {
            return;
        }
        pod.each_container(|container, path, _| {
            let Some(security) = &container.security_context else { return };
            let path = path.field("securityContext");
            if security.privileged == Some(true) {
                errors.add(&path.field("privileged"), "privileged container");
            } else if security.allow_privilege_escalation == Some(true)
                && !allowed.contains(&Concern::Escalation)
            {
                errors.add(&path.field("allowPrivilegeEscalation"), "container allows privilege escalation");
            }
        });
    });
}
