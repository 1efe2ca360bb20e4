use super::scc::{self, Concern};
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "scc-capability-added",
    suite: Suite::Openshift,
    severity: Severity::Error,
    what: "A container adds a Linux capability other than `NET_BIND_SERVICE`.",
    impacts: &[Impact::PodsRejected],
    help: "remove the capability",
    sources: &[Source::symbols(
        Project::OpenShiftLibrary,
        "pkg/securitycontextconstraints/capabilities/mustrunas.go",
        &["defaultCapabilities.Validate"],
    )
    .since("4.11")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    scc::check(context, reporter, demands);
}

pub(super) fn demands(pod: &PodTemplate<'_>, add: &mut dyn FnMut(&Path<'_>, Concern, String)) {
    pod.each_container(|container, path, _| {
        let capabilities =
            container.security_context.as_ref().and_then(|security| security.capabilities.as_ref());
        let security = path.field("securityContext");
        let list = security.field("capabilities.add");
        for (index, name) in capabilities.iter().flat_map(|all| all.add.iter().flatten()).enumerate() {
            if name != "NET_BIND_SERVICE" {
                add(&list.index(index), Concern::Privilege, format!("forbidden capability `{name}`"));
            }
        }
    });
}
