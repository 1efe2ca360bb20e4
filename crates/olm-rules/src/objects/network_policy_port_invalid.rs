use k8s_openapi::api::networking::v1::NetworkPolicyPort;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::kubernetes::numbers;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "network-policy-port-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A port of a NetworkPolicy has an invalid number, name, range or protocol.",
    impacts: &[Impact::ObjectRejected],
    help: "set port to a number from 1 to 65535 or a name; endPort requires a number and must not be less than it",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/networking/validation/validation.go",
        &["ValidateNetworkPolicyPort"],
    )
    .since("1.16")],
    check: Check::BuiltinObject(check),
};

fn check(known: &BuiltinObject<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let Typed::NetworkPolicy(policy) = &known.typed else { return };
    let root = Path::ROOT;
    let Some(spec) = &policy.spec else { return };
    let list = root.field("spec.ingress");
    for (index, rule) in spec.ingress.iter().flatten().enumerate() {
        ports(rule.ports.as_ref(), &list.index(index), errors);
    }
    let list = root.field("spec.egress");
    for (index, rule) in spec.egress.iter().flatten().enumerate() {
        ports(rule.ports.as_ref(), &list.index(index), errors);
    }
}

fn ports(ports: Option<&Vec<NetworkPolicyPort>>, rule: &Path<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let list = rule.field("ports");
    for (index, port) in ports.into_iter().flatten().enumerate() {
        let path = list.index(index);
        if let Some(protocol) = &port.protocol {
            errors.one_of(&path.field("protocol"), protocol, &["TCP", "UDP", "SCTP"]);
        }
        if let Some(number) = &port.port {
            errors.check(&path.field("port"), numbers::port_or_name(number));
        }
        let end = path.field("endPort");
        match (&port.port, port.end_port) {
            (Some(IntOrString::Int(first)), Some(highest)) => {
                if errors.check(&end, numbers::port(highest)) && highest < *first {
                    errors
                        .add(&end, format!("invalid endPort {highest}: must not be less than port {first}"));
                }
            }
            (_, Some(_)) => errors.add(&end, "`endPort` requires a numeric `port`"),
            (_, None) => {}
        }
    }
}
