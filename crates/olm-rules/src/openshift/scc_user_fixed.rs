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
    scc::check(context, reporter, demands);
}

pub(super) fn demands(pod: &PodTemplate<'_>, add: &mut dyn FnMut(&Path<'_>, Concern, String)) {
    let demand = |user: i64| match user {
        0 => (
            Concern::RootUser,
            "forbidden user ID 0 (root): OpenShift assigns one from the range of the namespace".to_owned(),
        ),
        _ => (
            Concern::User,
            format!("fixed user ID {user}: OpenShift assigns one from the range of the namespace"),
        ),
    };
    let mut is_inherited = false;
    pod.each_container(|container, path, _| {
        let user = container.security_context.as_ref().and_then(|security| security.run_as_user);
        is_inherited |= user.is_none();
        if let Some((concern, problem)) = user.map(demand) {
            add(&path.field("securityContext.runAsUser"), concern, problem);
        }
    });
    let user = pod.security().and_then(|security| security.run_as_user).filter(|_| is_inherited);
    if let Some((concern, problem)) = user.map(demand) {
        add(&pod.spec_path.field("securityContext.runAsUser"), concern, problem);
    }
}
