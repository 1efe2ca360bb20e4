//! What several rules want to know of a Service, with the API server's defaults.
//!
//! Sources: `k8s.io/kubernetes/pkg/apis/core/validation/validation.go` (`ValidateServiceClusterIPsRelatedFields`),
//! `pkg/api/service/util.go`, `pkg/registry/core/service/storage/alloc.go`.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::ServiceSpec;

use crate::model::yaml::Path;
use crate::rules::kubernetes::{Errors, addresses};

const NONE: &str = "None";

/// The type, which is `ClusterIP` unless it is set.
pub(super) fn kind(spec: &ServiceSpec) -> &str {
    spec.type_.as_deref().filter(|kind| !kind.is_empty()).unwrap_or("ClusterIP")
}

/// The cluster's addresses: where only the one is set, it stands for the list.
fn listed(spec: &ServiceSpec) -> Vec<&str> {
    let list = spec.cluster_ips.as_deref().unwrap_or_default();
    let one = spec.cluster_ip.as_deref().unwrap_or_default();
    if list.is_empty() && !one.is_empty() { vec![one] } else { list.iter().map(String::as_str).collect() }
}

/// Whether the Service has no address of its own, only those of its pods.
pub(super) fn is_headless(spec: &ServiceSpec) -> bool {
    listed(spec) == [NONE]
}

/// Whether the Service is reached from outside the cluster.
pub(super) fn is_external(spec: &ServiceSpec) -> bool {
    let exposed = spec.external_ips.as_ref().is_some_and(|list| !list.is_empty());
    match kind(spec) {
        "LoadBalancer" | "NodePort" => true,
        "ClusterIP" => exposed,
        _ => false,
    }
}

/// `clusterIP`, `clusterIPs`, `ipFamilies` and `ipFamilyPolicy`, which belong together.
pub(super) fn cluster_ips(spec: &ServiceSpec, path: &Path<'_>, errors: &mut Errors<'_, '_>) {
    let ips = listed(spec);
    let one = spec.cluster_ip.as_deref().unwrap_or_default();
    let families = spec.ip_families.as_deref().unwrap_or_default();
    // The address is named where it is written.
    let field = if spec.cluster_ips.as_ref().is_some_and(|list| !list.is_empty()) {
        "clusterIPs"
    } else {
        "clusterIP"
    };
    let list = path.field(field);
    let family_list = path.field("ipFamilies");
    let policy_path = path.field("ipFamilyPolicy");
    let kind = kind(spec);
    if kind == "ExternalName" {
        if !ips.is_empty() {
            errors.add(&list, "a Service of type ExternalName has no address in the cluster");
        }
        if !families.is_empty() {
            errors.add(&family_list, "a Service of type ExternalName has no address families");
        }
        if spec.ip_family_policy.is_some() {
            errors.add(&policy_path, "a Service of type ExternalName has no address families");
        }
        return;
    }
    if matches!(kind, "LoadBalancer" | "NodePort") && is_headless(spec) {
        errors.add(&list, format!("a Service of type {kind} is not headless: its address cannot be None"));
    }
    if ips.first().is_some_and(|first| *first != one) {
        errors.add(&list, "the first of clusterIPs must be clusterIP");
    }
    let mut seen = BTreeSet::new();
    for (index, family) in families.iter().enumerate() {
        errors.one_of(&family_list.index(index), family, &["IPv4", "IPv6"]);
        if !seen.insert(family) {
            errors.add(&family_list.index(index), format!("'{family}' is there already"));
        }
    }
    if let Some(policy) = &spec.ip_family_policy {
        errors.one_of(&policy_path, policy, &["SingleStack", "PreferDualStack", "RequireDualStack"]);
    }
    // Without a policy it is SingleStack, but for a headless Service without selector.
    let selectorless = spec.selector.as_ref().is_none_or(std::collections::BTreeMap::is_empty);
    let single = match spec.ip_family_policy.as_deref() {
        Some(policy) => policy == "SingleStack",
        None => !(one == NONE && selectorless),
    };
    if single && (ips.len() == 2 || families.len() == 2) {
        errors.add(&policy_path, "two addresses or families need PreferDualStack or RequireDualStack");
    }
    if ips.len() > 2 {
        errors.add(&list, "there are more than two addresses");
    }
    if ips.first() == Some(&NONE) {
        if ips.len() > 1 {
            errors.add(&list, "beside None, there are other addresses");
        }
        return;
    }
    let mut parsed = Vec::new();
    for (index, ip) in ips.iter().enumerate() {
        let place = if field == "clusterIPs" { list.index(index) } else { path.field(field) };
        match addresses::parse_ip(ip) {
            None => errors.add(&place, format!("'{ip}' is no IP address")),
            Some(address) => parsed.push(address),
        }
    }
    if parsed.len() != ips.len() {
        return;
    }
    if parsed.len() > 1
        && parsed.iter().all(|address| addresses::is_v6(*address) == addresses::is_v6(parsed[0]))
    {
        errors.add(&list, "the addresses are of one family; there is one of each at most");
    }
    for (index, (address, family)) in parsed.iter().zip(families).enumerate() {
        if (family == "IPv4" && addresses::is_v6(*address))
            || (family == "IPv6" && !addresses::is_v6(*address))
        {
            let message = format!("'{}' is no {family} address, as ipFamilies[{index}] says", ips[index]);
            errors.add(&list, message);
        }
    }
}
