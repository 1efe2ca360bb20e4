use super::scc::{self, Concern};
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "scc-selinux-fixed",
    suite: Suite::Openshift,
    severity: Severity::Error,
    what: "A pod or container sets `seLinuxOptions`, but OpenShift assigns the level from the namespace.",
    impacts: &[Impact::PodsRejected],
    help: "remove seLinuxOptions",
    sources: &[Source::symbols(
        Project::OpenShiftLibrary,
        "pkg/securitycontextconstraints/selinux/mustrunas.go",
        &["mustRunAs.Validate"],
    )
    .since("4.11")],
    check: Check::Bundle(check),
};

const MESSAGE: &str = "fixed SELinux options: OpenShift assigns them from the namespace";

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    scc::check(context, reporter, demands);
}

pub(super) fn demands(pod: &PodTemplate<'_>, add: &mut dyn FnMut(&Path<'_>, Concern, String)) {
    if pod.security().is_some_and(|security| security.se_linux_options.is_some()) {
        let path = pod.spec_path.field("securityContext");
        add(&path.field("seLinuxOptions"), Concern::SeLinux, MESSAGE.to_owned());
    }
    pod.each_container(|container, path, _| {
        if container.security_context.as_ref().is_some_and(|security| security.se_linux_options.is_some()) {
            let security = path.field("securityContext");
            add(&security.field("seLinuxOptions"), Concern::SeLinux, MESSAGE.to_owned());
        }
    });
}
