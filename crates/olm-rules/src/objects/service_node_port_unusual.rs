use super::services;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "service-node-port-unusual",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "A Service requests a node port that is not between 30000 and 32767.",
    impacts: &[Impact::Specific(
        "The API server rejects the Service on clusters with the default node port range.",
    )],
    help: "remove nodePort: the API server assigns a free one",
    sources: &[
        Source::file(Project::Kubernetes, "pkg/registry/core/service/portallocator/allocator.go")
            .since("1.16"),
        Source::symbols(Project::KubernetesDocs, "kube-apiserver reference", &["--service-node-port-range"]),
    ],
    check: Check::BuiltinObject(check),
};

fn check(known: &BuiltinObject<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let Typed::Service(service) = &known.typed else { return };
    let Some(spec) = service.spec.as_ref().filter(|spec| services::is_external(spec)) else { return };
    let usual = 30000..=32767;
    let mut report = |path: &Path<'_>, port: Option<i32>| {
        if let Some(port) = port.filter(|port| *port != 0 && !usual.contains(port)) {
            errors.add(path, format!("node port {port} is outside of the default range from 30000 to 32767"));
        }
    };
    let root = Path::ROOT;
    let list = root.field("spec.ports");
    for (index, port) in spec.ports.iter().flatten().enumerate() {
        report(&list.index(index).field("nodePort"), port.node_port);
    }
    report(&root.field("spec.healthCheckNodePort"), spec.health_check_node_port);
}
