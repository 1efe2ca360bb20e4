use super::services;
use crate::kubernetes::numbers;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "service-traffic-policy-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A traffic policy of a Service is unknown, or is set on a Service that it does not apply to.",
    impacts: &[Impact::ObjectRejected],
    help: "set externalTrafficPolicy and healthCheckNodePort only on Services that are reachable from outside the cluster",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &[
            "validateServiceExternalTrafficPolicy",
            "validateServiceInternalTrafficFieldsValue",
            "validateServiceTrafficDistribution",
        ],
    )
    .since("1.16")],
    check: Check::BuiltinObject(check),
};

fn check(known: &BuiltinObject<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let Typed::Service(service) = &known.typed else { return };
    let root = Path::ROOT;
    let Some(spec) = &service.spec else { return };
    let path = root.field("spec");
    let external = spec.external_traffic_policy.as_deref().unwrap_or_default();
    let external_path = path.field("externalTrafficPolicy");
    if services::is_external(spec) {
        if !external.is_empty() {
            errors.one_of(&external_path, external, &["Cluster", "Local"]);
        }
    } else if !external.is_empty() {
        errors.add(
            &external_path,
            "unexpected `externalTrafficPolicy`: the Service is not reachable from outside the cluster",
        );
    }
    let port = spec.health_check_node_port.unwrap_or_default();
    let port_path = path.field("healthCheckNodePort");
    if services::kind(spec) != "LoadBalancer" || external != "Local" {
        if port != 0 {
            errors.add(
                &port_path,
                "`healthCheckNodePort` requires type `LoadBalancer` and `externalTrafficPolicy: Local`",
            );
        }
    } else if port != 0 {
        errors.check(&port_path, numbers::port(port));
    }
    if let Some(policy) = &spec.internal_traffic_policy {
        errors.one_of(&path.field("internalTrafficPolicy"), policy, &["Cluster", "Local"]);
    }
    // Earlier versions drop the field (`ServiceTrafficDistribution`).
    if let Some(distribution) = spec.traffic_distribution.as_deref().filter(|_| errors.since(31)) {
        let known = ["PreferClose", "PreferSameZone", "PreferSameNode"];
        // `PreferSameTrafficDistribution`
        let count = if distribution.starts_with("PreferSame") && !errors.since(34) { 1 } else { known.len() };
        errors.one_of(&path.field("trafficDistribution"), distribution, &known[..count]);
    }
}
