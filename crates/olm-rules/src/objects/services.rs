//! Properties of Services that several rules use, with the API server's defaults.
//!
//! Sources: `k8s.io/kubernetes/pkg/apis/core/validation/validation.go` (`ValidateServiceClusterIPsRelatedFields`),
//! `pkg/api/service/util.go`, `pkg/registry/core/service/storage/alloc.go`.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::ServiceSpec;

use crate::kubernetes::addresses;
use crate::prelude::*;

const NONE: &str = "None";

/// Returns the type, which defaults to `ClusterIP`.
pub(crate) fn kind(spec: &ServiceSpec) -> &str {
    spec.type_.as_deref().filter(|kind| !kind.is_empty()).unwrap_or("ClusterIP")
}

/// Returns the cluster IPs: `clusterIP` if `clusterIPs` is not set.
fn listed(spec: &ServiceSpec) -> Vec<&str> {
    let list = spec.cluster_ips.as_deref().unwrap_or_default();
    let one = spec.cluster_ip.as_deref().unwrap_or_default();
    if list.is_empty() && !one.is_empty() { vec![one] } else { list.iter().map(String::as_str).collect() }
}

/// Returns whether the Service is headless.
pub(crate) fn is_headless(spec: &ServiceSpec) -> bool {
    listed(spec) == [NONE]
}

/// Returns whether the Service is reachable from outside the cluster.
pub(crate) fn is_external(spec: &ServiceSpec) -> bool {
    let exposed = spec.external_ips.as_ref().is_some_and(|list| !list.is_empty());
    match kind(spec) {
        "LoadBalancer" | "NodePort" => true,
        "ClusterIP" => exposed,
        _ => false,
    }
}

/// Validates `clusterIP`, `clusterIPs`, `ipFamilies` and `ipFamilyPolicy`.
pub(crate) fn cluster_ips(spec: &ServiceSpec, path: &Path<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let ips = listed(spec);
    let one = spec.cluster_ip.as_deref().unwrap_or_default();
    let families = spec.ip_families.as_deref().unwrap_or_default();
    // The finding names the field that is set.
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
            errors.add(&list, "unexpected cluster IP: not supported for type `ExternalName`");
        }
        if !families.is_empty() {
            errors.add(&family_list, "unexpected IP families: not supported for type `ExternalName`");
        }
        if spec.ip_family_policy.is_some() {
            errors.add(&policy_path, "unexpected IP family policy: not supported for type `ExternalName`");
        }
        return;
    }
    if matches!(kind, "LoadBalancer" | "NodePort") && is_headless(spec) {
        errors
            .add(&list, format!("invalid cluster IP `None`: a Service of type `{kind}` cannot be headless"));
    }
    if ips.first().is_some_and(|first| *first != one) {
        errors.add(&list, "the first entry of `clusterIPs` must equal `clusterIP`");
    }
    let mut seen = BTreeSet::new();
    for (index, family) in families.iter().enumerate() {
        errors.one_of(&family_list.index(index), family, &["IPv4", "IPv6"]);
        if !seen.insert(family) {
            errors.add(&family_list.index(index), format!("duplicate IP family `{family}`"));
        }
    }
    if let Some(policy) = &spec.ip_family_policy {
        errors.one_of(&policy_path, policy, &["SingleStack", "PreferDualStack", "RequireDualStack"]);
    }
    // The policy defaults to SingleStack, except for a headless Service without selector.
    let selectorless = spec.selector.as_ref().is_none_or(std::collections::BTreeMap::is_empty);
    let single = match spec.ip_family_policy.as_deref() {
        Some(policy) => policy == "SingleStack",
        None => !(one == NONE && selectorless),
    };
    if single && (ips.len() == 2 || families.len() == 2) {
        errors.add(
            &policy_path,
            "two cluster IPs or IP families require `PreferDualStack` or `RequireDualStack`",
        );
    }
    if ips.len() > 2 {
        errors.add(&list, "more than two cluster IPs");
    }
    if ips.first() == Some(&NONE) {
        if ips.len() > 1 {
            errors.add(&list, "`None` must be the only cluster IP");
        }
        return;
    }
    let mut parsed = Vec::new();
    for (index, ip) in ips.iter().enumerate() {
        let place = if field == "clusterIPs" { list.index(index) } else { path.field(field) };
        match addresses::parse_ip_by_version(ip, &|| errors.since(addresses::STRICT)) {
            None => errors.add(&place, format!("invalid IP address `{ip}`")),
            Some(address) => parsed.push(address),
        }
    }
    if parsed.len() != ips.len() {
        return;
    }
    if parsed.len() > 1
        && parsed.iter().all(|address| addresses::is_v6(*address) == addresses::is_v6(parsed[0]))
    {
        errors.add(&list, "the cluster IPs must be of different IP families");
    }
    for (index, (address, family)) in parsed.iter().zip(families).enumerate() {
        if (family == "IPv4" && addresses::is_v6(*address))
            || (family == "IPv6" && !addresses::is_v6(*address))
        {
            let message =
                format!("invalid {family} address `{}`: must match `ipFamilies[{index}]`", ips[index]);
            errors.add(&list, message);
        }
    }
}
