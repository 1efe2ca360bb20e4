use std::collections::BTreeSet;

use crate::kubernetes::names;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-port-duplicate",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "Two ports of a container have the same name, or two containers use the same host port.",
    impacts: &[Impact::DeploymentRejected],
    help: "use unique port names, and each host port once",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validateContainerPorts", "checkHostPortConflicts"],
    )
    .since("1.16")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let mut taken = BTreeSet::new();
    template.each_container(|container, path, role| {
        let list = path.field("ports");
        let mut named = BTreeSet::new();
        // Init containers run before the others, so their ports do not conflict.
        let mut alone = BTreeSet::new();
        let taken = if role == ContainerRole::Regular { &mut taken } else { &mut alone };
        for (index, port) in container.ports.iter().flatten().enumerate() {
            let path = list.index(index);
            if let Some(name) = port.name.as_deref()
                && names::port_name(name).is_ok()
                && !named.insert(name)
            {
                errors.add(&path.field("name"), format!("duplicate port name `{name}`"));
            }
            if let Some(number) = port.host_port.filter(|port| *port != 0)
                && !taken.insert((
                    port.protocol.as_deref(),
                    port.host_ip.as_deref().unwrap_or_default(),
                    number,
                ))
            {
                errors.add(&path.field("hostPort"), format!("duplicate host port {number}"));
            }
        }
    });
}
