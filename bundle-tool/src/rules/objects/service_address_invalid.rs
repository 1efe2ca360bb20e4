use super::services;
use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::kubernetes::{Errors, addresses};
use crate::rules::objects::{Known, Typed};
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "service-address-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "An address of a Service is none, cannot be reached, or contradicts the type or the address families of the Service.",
    why: "The API server refuses the object, and the InstallPlan fails.",
    help: "leave clusterIP out, or use None for a headless Service",
    source: "k8s.io/kubernetes, pkg/apis/core/validation/validation.go (ValidateServiceClusterIPsRelatedFields), pkg/registry/core/service/storage/alloc.go (initIPFamilyFields)",
    check: Check::Known(check),
};

fn check(known: &Known<'_>, errors: &mut Errors<'_, '_>) {
    let Typed::Service(service) = &known.typed else { return };
    let root = Path::ROOT;
    let Some(spec) = &service.spec else { return };
    let path = root.field("spec");
    let list = path.field("externalIPs");
    for (index, text) in spec.external_ips.iter().flatten().enumerate() {
        let path = list.index(index);
        match addresses::parse_ip(text) {
            None => errors.add(&path, format!("'{text}' is no IP address")),
            Some(address) if !addresses::is_reachable(address) => {
                errors.add(
                    &path,
                    format!("'{text}' is unspecified, loopback or link-local: it cannot be reached"),
                );
            }
            Some(_) => {}
        }
    }
    services::cluster_ips(spec, &path, errors);
}
