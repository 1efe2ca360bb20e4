use super::services;
use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::kubernetes::Errors;
use crate::rules::objects::{Known, Typed};
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "service-node-port-unusual",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "A Service asks for a node port that is not from 30000 to 32767.",
    why: "That is the range of clusters that are not configured otherwise: their API server refuses the Service.",
    help: "take the node port out: the cluster finds a free one",
    source: "k8s.io/kubernetes, pkg/registry/core/service/portallocator/allocator.go; kube-apiserver, --service-node-port-range",
    check: Check::Known(check),
};

fn check(known: &Known<'_>, errors: &mut Errors<'_, '_>) {
    let Typed::Service(service) = &known.typed else { return };
    let Some(spec) = service.spec.as_ref().filter(|spec| services::is_external(spec)) else { return };
    let usual = 30000..=32767;
    let mut report = |path: &Path<'_>, port: Option<i32>| {
        if let Some(port) = port.filter(|port| *port != 0 && !usual.contains(port)) {
            errors.add(
                path,
                format!("{port} is not from 30000 to 32767, where most clusters have their node ports"),
            );
        }
    };
    let root = Path::ROOT;
    let list = root.field("spec.ports");
    for (index, port) in spec.ports.iter().flatten().enumerate() {
        report(&list.index(index).field("nodePort"), port.node_port);
    }
    report(&root.field("spec.healthCheckNodePort"), spec.health_check_node_port);
}
