use super::scc::{self, Concern};
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "scc-user-fixed",
    suite: Suite::Openshift,
    severity: Severity::Error,
    what: "A pod or container sets `runAsUser`, but OpenShift assigns the user from a range of the namespace.",
    impacts: &[Impact::PodsRejected],
    help: "remove runAsUser, and set runAsNonRoot to `true`",
    sources: &[Source::symbols(
        Project::OpenShiftLibrary,
        "pkg/securitycontextconstraints/user/mustrunasrange.go",
        &["mustRunAsRange.Validate"],
    )
    .since("4.11")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    scc::each_restricted(context, Concern::User, reporter, |pod, errors| {
        let path = pod.spec_path.field("securityContext");
        if let Some(user) = pod.security().and_then(|security| security.run_as_user) {
            errors.add(&path.field("runAsUser"), fixed(user));
        }
        pod.each_container(|container, path, _| {
            if let Some(user) = container.security_context.as_ref().and_then(|security| security.run_as_user)
            {
                let security = path.field("securityContext");
                errors.add(&security.field("runAsUser"), fixed(user));
            }
        });
    });
}

fn fixed(user: i64) -> String {
    format!("fixed user ID {user}: OpenShift assigns one from the range of the namespace")
}
