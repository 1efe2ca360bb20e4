use crate::kubernetes::{names, numbers};
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-port-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A port of a container has a missing or invalid number, an invalid name, or an unknown protocol.",
    impacts: &[Impact::DeploymentRejected],
    help: "set containerPort to a number from 1 to 65535, name to at most 15 lowercase letters, digits and `-`, and protocol to `TCP`, `UDP` or `SCTP`",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validateContainerPorts"],
    )
    .since("1.16")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    template.each_container(|container, path, _| {
        let list = path.field("ports");
        for (index, port) in container.ports.iter().flatten().enumerate() {
            let path = list.index(index);
            if let Some(name) = port.name.as_deref().filter(|name| !name.is_empty()) {
                errors.check(&path.field("name"), names::port_name(name));
            }
            let number = path.field("containerPort");
            if port.container_port == 0 {
                errors.add(&number, "missing required field `containerPort`");
            } else {
                errors.check(&number, numbers::port(port.container_port));
            }
            if let Some(host) = port.host_port.filter(|port| *port != 0) {
                errors.check(&path.field("hostPort"), numbers::port(host));
            }
            let protocol = port.protocol.as_deref().unwrap_or_default();
            errors.one_of(&path.field("protocol"), protocol, &["TCP", "UDP", "SCTP"]);
        }
    });
}
