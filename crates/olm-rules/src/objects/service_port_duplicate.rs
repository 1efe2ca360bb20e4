use crate::prelude::*;
use std::collections::BTreeMap;

pub(crate) static RULE: Rule = Rule {
    id: "service-port-duplicate",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "Two ports of a Service have the same name, the same number and protocol, or the same node port.",
    impacts: &[Impact::ObjectRejected],
    help: "use unique names, unique pairs of port and protocol, and unique node ports",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validateService"],
    )
    .since("1.16")],
    check: Check::BuiltinObject(check),
};

fn check(known: &BuiltinObject<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let Typed::Service(service) = &known.typed else { return };
    let root = Path::ROOT;
    let ports = service.spec.iter().flat_map(|spec| spec.ports.iter().flatten());
    let list = root.field("spec.ports");
    let (mut named, mut numbered, mut node_ports) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for (index, port) in ports.enumerate() {
        let path = list.index(index);
        let protocol = port.protocol.as_deref().filter(|protocol| !protocol.is_empty()).unwrap_or("TCP");
        if let Some(name) = port.name.as_deref().filter(|name| !name.is_empty()) {
            let first = *named.entry(name).or_insert(index);
            if first < index {
                errors.add(&path.field("name"), format!("duplicate port name `{name}`"));
                errors.related(&list.index(first).field("name"), "first used here");
            }
        }
        let first = *numbered.entry((protocol, port.port)).or_insert(index);
        if first < index {
            errors.add(&path.field("port"), format!("duplicate port {}/{protocol}", port.port));
            errors.related(&list.index(first).field("port"), "first used here");
        }
        // Ports with the same number may share a node port if their protocols differ.
        if let Some(node_port) = port.node_port.filter(|number| *number != 0)
            && let Some((other_port, other_protocol)) = node_ports.insert(node_port, (port.port, protocol))
            && (other_protocol == protocol || other_port != port.port)
        {
            errors.add(&path.field("nodePort"), format!("duplicate node port {node_port}"));
        }
    }
}
