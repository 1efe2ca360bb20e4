use super::scc::{self, Concern};
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "scc-host-access",
    suite: Suite::Openshift,
    severity: Severity::Error,
    what: "A pod uses the network, process or IPC namespace of the host, or a port of the host.",
    impacts: &[Impact::PodsRejected],
    help: "remove hostNetwork, hostPID, hostIPC and hostPort",
    sources: &[Source::symbols(
        Project::OpenShiftLibrary,
        "pkg/securitycontextconstraints/sccmatching/provider.go",
        &["simpleProvider.ValidatePodSecurityContext", "simpleProvider.hasHostPort"],
    )
    .since("4.11")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    scc::each_restricted(context, Concern::HostNetwork, reporter, |pod, errors| {
        let used = [
            ("hostNetwork", pod.spec.host_network),
            ("hostPID", pod.spec.host_pid),
            ("hostIPC", pod.spec.host_ipc),
        ];
        for (field, used) in used {
            if used == Some(true) {
                errors.add(&pod.spec_path.field(field), format!("forbidden field `{field}`"));
            }
        }
        if pod.host_network() {
            // The API server then sets the host port of every port.
            return;
        }
        pod.each_container(|container, path, _| {
            let list = path.field("ports");
            for (index, port) in container.ports.iter().flatten().enumerate() {
                if let Some(number) = port.host_port.filter(|number| *number != 0) {
                    errors.add(&list.index(index).field("hostPort"), format!("forbidden host port {number}"));
                }
            }
        });
    });
}
