use super::scc::{self, Concern};
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "scc-seccomp-forbidden",
    suite: Suite::Openshift,
    severity: Severity::Error,
    what: "A pod or container uses a seccomp profile other than `RuntimeDefault`.",
    impacts: &[Impact::PodsRejected],
    help: "set seccompProfile.type to `RuntimeDefault`",
    sources: &[Source::symbols(
        Project::OpenShiftLibrary,
        "pkg/securitycontextconstraints/seccomp/strategy.go",
        &["strategy.ValidatePod", "strategy.ValidateContainer"],
    )
    .since("4.11")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    scc::check(context, reporter, demands);
}

pub(super) fn demands(pod: &PodTemplate<'_>, add: &mut dyn FnMut(&Path<'_>, Concern, String)) {
    let path = pod.spec_path.field("securityContext");
    let profile = pod.security().and_then(|security| security.seccomp_profile.as_ref());
    if let Some(profile) = profile.filter(|profile| profile.type_ != "RuntimeDefault") {
        add(&path.field("seccompProfile.type"), Concern::Privilege, forbidden(&profile.type_));
    }
    pod.each_container(|container, path, _| {
        let profile =
            container.security_context.as_ref().and_then(|security| security.seccomp_profile.as_ref());
        if let Some(profile) = profile.filter(|profile| profile.type_ != "RuntimeDefault") {
            let security = path.field("securityContext");
            add(&security.field("seccompProfile.type"), Concern::Privilege, forbidden(&profile.type_));
        }
    });
}

fn forbidden(profile: &str) -> String {
    format!("forbidden seccomp profile `{profile}`: must be `RuntimeDefault`")
}
