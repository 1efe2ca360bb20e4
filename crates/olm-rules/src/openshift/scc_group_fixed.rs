use super::scc::{self, Concern};
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "scc-group-fixed",
    suite: Suite::Openshift,
    severity: Severity::Error,
    what: "A pod sets `fsGroup`, but OpenShift assigns the group from a range of the namespace.",
    impacts: &[Impact::PodsRejected],
    help: "remove fsGroup",
    sources: &[Source::symbols(
        Project::OpenShiftLibrary,
        "pkg/securitycontextconstraints/group/mustrunas.go",
        &["mustRunAs.Validate"],
    )
    .since("4.11")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    scc::check(context, reporter, demands);
}

pub(super) fn demands(pod: &PodTemplate<'_>, add: &mut dyn FnMut(&Path<'_>, Concern, String)) {
    if let Some(group) = pod.security().and_then(|security| security.fs_group) {
        let path = pod.spec_path.field("securityContext");
        let problem =
            format!("fixed group ID {group}: OpenShift assigns one from the range of the namespace");
        add(&path.field("fsGroup"), Concern::Group, problem);
    }
}
