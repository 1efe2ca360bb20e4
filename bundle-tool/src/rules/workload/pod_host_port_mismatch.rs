use crate::report::{Severity, Suite};
use crate::rules::kubernetes::Errors;
use crate::rules::workload::{PodTemplate, Role};
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pod-host-port-mismatch",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A pod in the host's network has a container port and a host port that differ.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "make hostPort equal to containerPort, or take it out",
    source: "k8s.io/kubernetes, pkg/apis/core/validation/validation.go (validatePodHostNetworkDeps)",
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
    if !template.host_network() {
        return;
    }
    template.each_container(|container, path, role| {
        let list = path.field("ports");
        for (index, port) in container.ports.iter().flatten().enumerate() {
            let host = port.host_port.unwrap_or_default();
            if role == Role::Regular && host != 0 && host != port.container_port {
                let message = format!(
                    "hostPort {host} differs from containerPort {}, but hostNetwork is on",
                    port.container_port
                );
                errors.add(&list.index(index).field("hostPort"), message);
            }
        }
    });
}
