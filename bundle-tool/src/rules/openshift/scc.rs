//! Which pods OpenShift admits with the security context constraints (SCC) `restricted-v2` alone.

use std::collections::BTreeSet;

use crate::rules::prelude::*;

/// What an SCC can allow besides what `restricted-v2` does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Concern {
    /// Any user that is not root.
    User,
    /// Any group of volumes.
    Group,
    /// The network and the ports of the host.
    HostNetwork,
    /// Other types of volumes.
    Volume,
    /// Everything else: privileged containers, capabilities, seccomp, `SELinux`.
    Privilege,
}

/// Returns whether an SCC allows something. SCCs that OpenShift does not create are assumed to allow everything.
fn allows(scc: &str, concern: Concern) -> bool {
    match scc {
        "restricted" | "restricted-v2" | "restricted-v3" => false,
        "nonroot" | "nonroot-v2" | "anyuid" => matches!(concern, Concern::User | Concern::Group),
        "hostnetwork" | "hostnetwork-v2" => concern == Concern::HostNetwork,
        "hostmount-anyuid" | "hostmount-anyuid-v2" => {
            matches!(concern, Concern::User | Concern::Group | Concern::Volume)
        }
        "hostaccess" => matches!(concern, Concern::HostNetwork | Concern::Volume),
        _ => true,
    }
}

/// Calls `check` with the pods whose service account may not use any SCC that allows what `concern` names.
pub(super) fn each_restricted(
    csv: &Csv<'_>,
    concern: Concern,
    reporter: &mut Reporter<'_>,
    check: impl Fn(&PodTemplate<'_>, &mut Errors<'_, '_>),
) {
    let allowed = allowed(csv, concern);
    csv.each_pod_template(|pod| {
        let account = pod.spec.service_account_name.as_deref().filter(|name| !name.is_empty());
        if !allowed.contains(account.unwrap_or("default")) {
            check(pod, &mut Errors::new(pod.object, reporter));
        }
    });
}

/// Returns the service accounts that the CSV permits to use an SCC that allows what `concern` names.
fn allowed<'c>(csv: &'c Csv<'_>, concern: Concern) -> BTreeSet<&'c str> {
    let strategy = &csv.typed.spec.install.spec;
    let has = |list: &[String], wanted: &str| list.iter().any(|item| item == wanted || item == "*");
    let permissions = strategy.cluster_permissions.iter().chain(&strategy.permissions);
    let allowed = permissions.filter(|permission| {
        permission.rules.iter().any(|rule| {
            let names = rule.resource_names.as_deref().unwrap_or_default();
            has(rule.api_groups.as_deref().unwrap_or_default(), "security.openshift.io")
                && has(rule.resources.as_deref().unwrap_or_default(), "securitycontextconstraints")
                && has(&rule.verbs, "use")
                && (names.is_empty() || names.iter().any(|name| allows(name, concern)))
        })
    });
    allowed.map(|permission| permission.service_account_name.as_str()).collect()
}
