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
    scc::check(context, reporter, demands);
}

pub(super) fn demands(pod: &PodTemplate<'_>, add: &mut dyn FnMut(&Path<'_>, Concern, String)) {
    pod.each_container(|container, path, _| {
        let Some(security) = &container.security_context else { return };
        let path = path.field("securityContext");
        if security.privileged == Some(true) {
            add(&path.field("privileged"), Concern::Privilege, "privileged container".to_owned());
        } else if security.allow_privilege_escalation == Some(true) {
            let problem = "container allows privilege escalation".to_owned();
            add(&path.field("allowPrivilegeEscalation"), Concern::Escalation, problem);
        }
    });
}
