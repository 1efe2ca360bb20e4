use super::scc::{self, Concern};
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "scc-user-fixed",
    suite: Suite::Openshift,
    severity: Severity::Error,
    what: "A pod or container sets `runAsUser`, but OpenShift assigns the user from a range of the namespace, or the SCCs that its service account may use do not allow root.",
    impacts: &[Impact::PodsRejected],
    help: "remove runAsUser, and set runAsNonRoot to `true`",
    sources: &[
        Source::symbols(
            Project::OpenShiftLibrary,
            "pkg/securitycontextconstraints/user/mustrunasrange.go",
            &["mustRunAsRange.Validate"],
        )
        .since("4.11"),
        Source::symbols(
            Project::OpenShiftLibrary,
            "pkg/securitycontextconstraints/user/nonroot.go",
            &["nonRoot.ValidateContainer"],
        )
        .since("4.11"),
    ],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    scc::each_pod(context, reporter, |pod, allowed, errors| {
        let problem = |user: i64| {
            if !allowed.contains(&Concern::User) {
                Some(format!("fixed user ID {user}: OpenShift assigns one from the range of the namespace"))
            } else if user == 0 && !allowed.contains(&Concern::RootUser) {
                Some("user ID 0: the SCCs that the service account may use do not allow root".to_owned())
            } else {
                None
            }
        };
        let mut is_inherited = false;
        pod.each_container(|container, path, _| {
            let user = container.security_context.as_ref().and_then(|security| security.run_as_user);
            is_inherited |= user.is_none();
            if let Some(problem) = user.and_then(problem) {
                errors.add(&path.field("securityContext.runAsUser"), problem);
            }
        });
        let user = pod.security().and_then(|security| security.run_as_user).filter(|_| is_inherited);
        if let Some(problem) = user.and_then(problem) {
            errors.add(&pod.spec_path.field("securityContext.runAsUser"), problem);
        }
    });
}
