use super::services;
use crate::kubernetes::{addresses, names};
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "service-load-balancer-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A load balancer field has an invalid value, or is set on a Service of another type.",
    impacts: &[Impact::ObjectRejected],
    help: "remove the field, or set type to `LoadBalancer`",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validateService", "validateLoadBalancerClassField"],
    )
    .since("1.16")],
    check: Check::BuiltinObject(check),
};

fn check(known: &BuiltinObject<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let Typed::Service(service) = &known.typed else { return };
    let root = Path::ROOT;
    let Some(spec) = &service.spec else { return };
    let balanced = services::kind(spec) == "LoadBalancer";
    let path = root.field("spec");
    let misplaced = "unexpected field: only supported for type `LoadBalancer`";
    let ranges = spec.load_balancer_source_ranges.as_deref().unwrap_or_default();
    let list = path.field("loadBalancerSourceRanges");
    if ranges.is_empty() {
        const KEY: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";
        let annotations = service.metadata.annotations.as_ref();
        if let Some(text) = annotations.and_then(|annotations| annotations.get(KEY)) {
            let annotations = root.field("metadata.annotations");
            let path = annotations.key(KEY);
            if !balanced {
                errors.add(&path, misplaced);
            }
            for range in text.trim().split(',').filter(|_| !text.trim().is_empty()) {
                let verdict = addresses::cidr(range.trim(), &|| errors.since(addresses::STRICT));
                errors.check(&path, verdict.map(|_| ()));
            }
        }
    } else {
        if !balanced {
            errors.add(&list, misplaced);
        }
        for (index, range) in ranges.iter().enumerate() {
            let verdict = addresses::cidr(range.trim(), &|| errors.since(addresses::STRICT));
            errors.check(&list.index(index), verdict.map(|_| ()));
        }
    }
    if let Some(class) = &spec.load_balancer_class {
        let path = path.field("loadBalancerClass");
        if balanced {
            errors.check(&path, names::qualified(class));
        } else {
            errors.add(&path, misplaced);
        }
    }
    if spec.allocate_load_balancer_node_ports.is_some() && !balanced {
        errors.add(&path.field("allocateLoadBalancerNodePorts"), misplaced);
    }
}
