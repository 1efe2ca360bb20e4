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
    scc::check(context, reporter, demands);
}

pub(super) fn demands(pod: &PodTemplate<'_>, add: &mut dyn FnMut(&Path<'_>, Concern, String)) {
    let used = [
        ("hostNetwork", Concern::HostNetwork, pod.spec.host_network),
        ("hostPID", Concern::HostProcesses, pod.spec.host_pid),
        ("hostIPC", Concern::HostProcesses, pod.spec.host_ipc),
    ];
    for (field, concern, used) in used {
        if used == Some(true) {
            add(&pod.spec_path.field(field), concern, format!("forbidden field `{field}`"));
        }
    }
    // The API server sets the host port of every port if the pod uses the network of the host.
    if pod.host_network() {
        return;
    }
    pod.each_container(|container, path, _| {
        let list = path.field("ports");
        for (index, port) in container.ports.iter().flatten().enumerate() {
            if let Some(number) = port.host_port.filter(|number| *number != 0) {
                let problem = format!("forbidden host port {number}");
                add(&list.index(index).field("hostPort"), Concern::HostNetwork, problem);
            }
        }
    });
}
