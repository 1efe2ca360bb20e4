use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-host-port-mismatch",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A pod in the host network has a host port that differs from the container port.",
    impacts: &[Impact::DeploymentRejected],
    help: "set hostPort to the value of containerPort, or remove it",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validatePodHostNetworkDeps"],
    )
    .since("1.16")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    if !template.host_network() {
        return;
    }
    template.each_container(|container, path, role| {
        let list = path.field("ports");
        for (index, port) in container.ports.iter().flatten().enumerate() {
            let host = port.host_port.unwrap_or_default();
            if role == ContainerRole::Regular && host != 0 && host != port.container_port {
                let message = format!(
                    "invalid hostPort {host}: must equal `containerPort` {} in the host network",
                    port.container_port
                );
                errors.add(&list.index(index).field("hostPort"), message);
            }
        }
    });
}
