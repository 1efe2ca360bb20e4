use crate::report::{Severity, Suite};
use crate::rules::kubernetes::{Errors, names, numbers};
use crate::rules::workload::PodTemplate;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pod-port-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A port of a container has no number, a number that is no port, a name that is none, or an unknown protocol.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "give containerPort from 1 to 65535, a name of at most 15 lower case letters, digits and `-`, and TCP, UDP or SCTP",
    source: "k8s.io/kubernetes, pkg/apis/core/validation/validation.go (validateContainerPorts)",
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
    template.each_container(|container, path, _| {
        let list = path.field("ports");
        for (index, port) in container.ports.iter().flatten().enumerate() {
            let path = list.index(index);
            if let Some(name) = port.name.as_deref().filter(|name| !name.is_empty()) {
                errors.check(&path.field("name"), names::port_name(name));
            }
            let number = path.field("containerPort");
            if port.container_port == 0 {
                errors.add(&number, "containerPort is missing");
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
