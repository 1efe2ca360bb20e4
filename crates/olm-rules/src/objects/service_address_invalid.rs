use super::services;
use crate::kubernetes::addresses;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "service-address-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "An address of a Service is invalid, or conflicts with the type or the IP families of the Service.",
    impacts: &[Impact::ObjectRejected],
    help: "remove clusterIP, or set it to `None` for a headless Service",
    sources: &[
        Source::symbols(
            Project::Kubernetes,
            "pkg/apis/core/validation/validation.go",
            &["ValidateServiceClusterIPsRelatedFields"],
        )
        .since("1.16"),
        Source::symbols(
            Project::Kubernetes,
            "pkg/registry/core/service/storage/alloc.go",
            &["initIPFamilyFields"],
        )
        .since("1.21"),
    ],
    check: Check::BuiltinObject(check),
};

fn check(known: &BuiltinObject<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let Typed::Service(service) = &known.typed else { return };
    let root = Path::ROOT;
    let Some(spec) = &service.spec else { return };
    let path = root.field("spec");
    let list = path.field("externalIPs");
    for (index, text) in spec.external_ips.iter().flatten().enumerate() {
        let path = list.index(index);
        match addresses::parse_ip_by_version(text, &|| errors.since(addresses::STRICT)) {
            None => errors.add(&path, format!("invalid IP address `{text}`")),
            Some(address) if !addresses::is_reachable(address) => {
                errors.add(
                    &path,
                    format!("invalid IP address `{text}`: must not be unspecified, loopback or link-local"),
                );
            }
            Some(_) => {}
        }
    }
    services::cluster_ips(spec, &path, errors);
}
