use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::services;
use crate::kubernetes::{names, numbers};
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "service-port-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A Service has no ports, or a port with an invalid number, name, protocol, target port or node port.",
    impacts: &[Impact::ObjectRejected],
    help: "set port to a number from 1 to 65535, and a name if there are several ports",
    sources: &[
        Source::symbols(
            Project::Kubernetes,
            "pkg/apis/core/validation/validation.go",
            &["validateServicePort"],
        )
        .since("1.16"),
        Source::symbols(
            Project::Kubernetes,
            "pkg/registry/core/service/storage/alloc.go",
            &["initNodePorts"],
        )
        .since("1.16"),
    ],
    check: Check::BuiltinObject(check),
};

fn check(known: &BuiltinObject<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let Typed::Service(service) = &known.typed else { return };
    let root = Path::ROOT;
    let Some(spec) = &service.spec else {
        errors.add(&root.field("spec"), "missing required field `spec`");
        return;
    };
    let kind = services::kind(spec);
    let list = root.field("spec.ports");
    let ports = spec.ports.as_deref().unwrap_or_default();
    if ports.is_empty() && !services::is_headless(spec) && kind != "ExternalName" {
        errors.add(&list, "missing ports: at least one is required");
    }
    for (index, port) in ports.iter().enumerate() {
        let path = list.index(index);
        let name = port.name.as_deref().unwrap_or_default();
        if !name.is_empty() {
            errors.check(&path.field("name"), names::dns_label(name));
        } else if ports.len() > 1 {
            errors.add(&path.field("name"), "missing required field `name`: the Service has several ports");
        }
        let valid = errors.check(&path.field("port"), numbers::port(port.port));
        let protocol = port.protocol.as_deref().filter(|protocol| !protocol.is_empty()).unwrap_or("TCP");
        errors.one_of(&path.field("protocol"), protocol, &["TCP", "UDP", "SCTP"]);
        // The target port defaults to the port.
        match &port.target_port {
            None | Some(IntOrString::Int(0)) => {}
            Some(IntOrString::String(name)) if name.is_empty() => {}
            Some(target) if valid || *target != IntOrString::Int(port.port) => {
                errors.check(&path.field("targetPort"), numbers::port_or_name(target));
            }
            Some(_) => {}
        }
        if let Some(protocol) = &port.app_protocol {
            errors.check(&path.field("appProtocol"), names::qualified(protocol));
        }
        let node_port = port.node_port.unwrap_or_default();
        let path = path.field("nodePort");
        if node_port != 0 && kind == "ClusterIP" {
            errors.add(&path, "unexpected `nodePort`: not supported for type `ClusterIP`");
        }
    }
}
