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
    scc::each_pod(context, reporter, |pod, allowed, errors| {
        if allowed.contains(&Concern::Group) {
            return;
        }
        if let Some(group) = pod.security().and_then(|security| security.fs_group) {
            let path = pod.spec_path.field("securityContext");
            let message =
                format!("fixed group ID {group}: OpenShift assigns one from the range of the namespace");
            errors.add(&path.field("fsGroup"), message);
        }
    });
}
