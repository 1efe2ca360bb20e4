//! Which pods OpenShift admits with the security context constraints (SCC) `restricted-v2` alone.

use std::collections::BTreeSet;

use k8s_openapi::api::rbac::v1::PolicyRule;

use crate::prelude::*;

/// What an SCC can allow besides what `restricted-v2` does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Concern {
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

/// The prefix of the `ClusterRole`s that OpenShift creates for its SCCs.
const ROLE_OF_SCC: &str = "system:openshift:scc:";

/// Calls `check` with the pods whose service account may not use any SCC that allows what `concern` names.
pub(crate) fn each_restricted(
    context: &Context<'_>,
    concern: Concern,
    reporter: &mut Reporter<'_>,
    check: impl Fn(&PodTemplate<'_>, &mut ErrorReporter<'_, '_>),
) {
    let bound = bound(context, concern);
    for csv in &context.csvs {
        let allowed = allowed(csv, concern);
        csv.each_pod_template(|pod| {
            let account = pod.spec.service_account_name.as_deref().filter(|name| !name.is_empty());
            let account = account.unwrap_or("default");
            if !allowed.contains(account) && !bound.permits(account) {
                check(pod, &mut ErrorReporter::new(pod.object, reporter));
            }
        });
    }
}

/// Returns whether one of the rules permits to use an SCC that allows what `concern` names.
fn permit(rules: &[PolicyRule], concern: Concern) -> bool {
    let has = |list: &[String], wanted: &str| list.iter().any(|item| item == wanted || item == "*");
    rules.iter().any(|rule| {
        let names = rule.resource_names.as_deref().unwrap_or_default();
        has(rule.api_groups.as_deref().unwrap_or_default(), "security.openshift.io")
            && has(rule.resources.as_deref().unwrap_or_default(), "securitycontextconstraints")
            && has(&rule.verbs, "use")
            && (names.is_empty() || names.iter().any(|name| allows(name, concern)))
    })
}

/// Returns the service accounts that the CSV permits to use an SCC that allows what `concern` names.
fn allowed<'c>(csv: &'c Csv<'_>, concern: Concern) -> BTreeSet<&'c str> {
    let strategy = &csv.typed.spec.install.spec;
    let permissions = strategy.cluster_permissions.iter().chain(&strategy.permissions);
    let allowed = permissions.filter(|permission| permit(&permission.rules, concern));
    allowed.map(|permission| permission.service_account_name.as_str()).collect()
}

/// The service accounts that bindings in `manifests/` give an SCC to.
#[derive(Debug, Default)]
struct Bound<'c> {
    accounts: BTreeSet<&'c str>,
    /// Whether all service accounts have it.
    all: bool,
}

impl Bound<'_> {
    fn permits(&self, account: &str) -> bool {
        self.all || self.accounts.contains(account)
    }
}

/// Returns the service accounts that the bindings in `manifests/` permit to use an SCC that allows what `concern` names: through the
/// roles of OpenShift, or through a role in `manifests/`.
fn bound<'c>(context: &'c Context<'_>, concern: Concern) -> Bound<'c> {
    let mut roles = BTreeSet::new();
    for known in &context.known {
        let permissions = match &known.typed {
            Typed::Role(role) => role.rules.as_deref(),
            Typed::ClusterRole(role) => role.rules.as_deref(),
            _ => None,
        };
        if permit(permissions.unwrap_or_default(), concern) {
            roles.insert((known.object.kind(), known.object.name()));
        }
    }
    let mut bound = Bound::default();
    for known in &context.known {
        let (role, subjects) = match &known.typed {
            Typed::RoleBinding(binding) => (&binding.role_ref, &binding.subjects),
            Typed::ClusterRoleBinding(binding) => (&binding.role_ref, &binding.subjects),
            _ => continue,
        };
        let of_openshift = role.name.strip_prefix(ROLE_OF_SCC).filter(|_| role.kind == "ClusterRole");
        let permits = match of_openshift {
            Some(scc) => allows(scc, concern),
            None if role.name == "cluster-admin" => role.kind == "ClusterRole",
            None => roles.contains(&(role.kind.as_str(), role.name.as_str())),
        };
        for subject in subjects.iter().flatten().filter(|_| permits) {
            match subject.kind.as_str() {
                "ServiceAccount" => _ = bound.accounts.insert(subject.name.as_str()),
                "Group" => bound.all |= is_group_of_accounts(&subject.name),
                _ => {}
            }
        }
    }
    bound
}

/// Returns whether all service accounts, at least those of one namespace, are in a group.
fn is_group_of_accounts(group: &str) -> bool {
    group == "system:authenticated" || group.starts_with("system:serviceaccounts")
}
