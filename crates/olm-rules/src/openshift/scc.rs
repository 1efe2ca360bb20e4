//! Which pods OpenShift admits with the security context constraints (SCC) `restricted-v2`, and with those that a bundle lets their
//! service accounts use.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::rbac::v1::PolicyRule;

use crate::prelude::*;

/// What an SCC can allow besides what `restricted-v2` does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Concern {
    /// Any user that is not root.
    User,
    /// The user root.
    RootUser,
    /// Any group of volumes.
    Group,
    /// The network and the ports of the host.
    HostNetwork,
    /// The process and IPC namespaces of the host.
    HostProcesses,
    /// Volumes of type hostPath.
    HostPath,
    /// Volumes of type nfs.
    Nfs,
    /// Volumes of all other types.
    Volume,
    /// Any `SELinux` options.
    SeLinux,
    /// Privilege escalation.
    Escalation,
    /// Everything else: privileged containers, capabilities, seccomp.
    Privilege,
}

/// Everything that an SCC can allow.
const ALL: &[Concern] = &[
    Concern::User,
    Concern::RootUser,
    Concern::Group,
    Concern::HostNetwork,
    Concern::HostProcesses,
    Concern::HostPath,
    Concern::Nfs,
    Concern::Volume,
    Concern::SeLinux,
    Concern::Escalation,
    Concern::Privilege,
];

/// Returns what an SCC allows. SCCs that are not listed, such as those that OpenShift does not create, are assumed to allow everything.
///
/// Source: the manifests of the SCCs in cluster-kube-apiserver-operator (`bindata/bootkube/scc-manifests`).
fn allowed_by(scc: &str) -> &'static [Concern] {
    use Concern::{Escalation, Group, HostNetwork, HostPath, HostProcesses, Nfs, RootUser, SeLinux, User};
    match scc {
        "restricted-v2" | "restricted-v3" => &[],
        "restricted" => &[Escalation],
        "nonroot-v2" => &[User, Group],
        "nonroot" => &[User, Group, Escalation],
        "anyuid" => &[User, RootUser, Group, Escalation],
        "hostnetwork-v2" => &[HostNetwork],
        "hostnetwork" => &[HostNetwork, Escalation],
        "hostmount-anyuid" => &[User, RootUser, Group, HostPath, Nfs, Escalation],
        "hostmount-anyuid-v2" => &[User, RootUser, Group, HostPath, Nfs, SeLinux, Escalation],
        "hostaccess" => &[HostNetwork, HostProcesses, HostPath, Escalation],
        _ => ALL,
    }
}

/// The prefix of the `ClusterRole`s that OpenShift creates for its SCCs.
const ROLE_OF_SCC: &str = "system:openshift:scc:";

/// Calls `check` with each pod and what the SCCs that its service account may use allow.
pub(crate) fn each_pod(
    context: &Context<'_>,
    reporter: &mut Reporter<'_>,
    check: impl Fn(&PodTemplate<'_>, &BTreeSet<Concern>, &mut ErrorReporter<'_, '_>),
) {
    let mut bound = Granted::default();
    bound.add_bindings(context);
    for csv in &context.csvs {
        let mut granted = Granted::default();
        granted.add_permissions(csv);
        csv.each_pod_template(|pod| {
            let account = pod.spec.service_account_name.as_deref().filter(|name| !name.is_empty());
            let account = account.unwrap_or("default");
            let allowed = [&bound, &granted].into_iter().flat_map(|granted| granted.to(account)).collect();
            check(pod, &allowed, &mut ErrorReporter::new(pod.object, reporter));
        });
    }
}

/// Returns what the SCCs that the rules permit to use allow.
fn allowed_by_rules(rules: &[PolicyRule]) -> BTreeSet<Concern> {
    let has = |list: &[String], wanted: &str| list.iter().any(|item| item == wanted || item == "*");
    let mut allowed = BTreeSet::new();
    for rule in rules {
        if has(rule.api_groups.as_deref().unwrap_or_default(), "security.openshift.io")
            && has(rule.resources.as_deref().unwrap_or_default(), "securitycontextconstraints")
            && has(&rule.verbs, "use")
        {
            match rule.resource_names.as_deref().unwrap_or_default() {
                [] => allowed.extend(ALL),
                names => allowed.extend(names.iter().flat_map(|name| allowed_by(name))),
            }
        }
    }
    allowed
}

/// What the SCCs that service accounts may use allow.
#[derive(Debug, Default)]
struct Granted<'c> {
    accounts: BTreeMap<&'c str, BTreeSet<Concern>>,
    /// What all service accounts have.
    all: BTreeSet<Concern>,
}

impl<'c> Granted<'c> {
    /// Returns what is granted to a service account.
    fn to(&self, account: &str) -> impl Iterator<Item = Concern> {
        self.accounts.get(account).into_iter().flatten().chain(&self.all).copied()
    }

    /// Adds the permissions of a CSV.
    fn add_permissions(&mut self, csv: &'c Csv<'_>) {
        let strategy = &csv.typed.spec.install.spec;
        for permission in strategy.cluster_permissions.iter().chain(&strategy.permissions) {
            let granted = self.accounts.entry(permission.service_account_name.as_str()).or_default();
            granted.extend(allowed_by_rules(&permission.rules));
        }
    }

    /// Adds what the bindings in `manifests/` grant through the roles of OpenShift, or through a role in `manifests/`.
    fn add_bindings(&mut self, context: &'c Context<'_>) {
        let mut roles = BTreeMap::new();
        for known in &context.known {
            let permissions = match &known.typed {
                Typed::Role(role) => role.rules.as_deref(),
                Typed::ClusterRole(role) => role.rules.as_deref(),
                _ => None,
            };
            let allowed = allowed_by_rules(permissions.unwrap_or_default());
            if !allowed.is_empty() {
                roles.insert((known.object.kind(), known.object.name()), allowed);
            }
        }
        for known in &context.known {
            let (role, subjects) = match &known.typed {
                Typed::RoleBinding(binding) => (&binding.role_ref, &binding.subjects),
                Typed::ClusterRoleBinding(binding) => (&binding.role_ref, &binding.subjects),
                _ => continue,
            };
            let of_openshift = role.name.strip_prefix(ROLE_OF_SCC).filter(|_| role.kind == "ClusterRole");
            let allowed: BTreeSet<_> = match of_openshift {
                Some(scc) => allowed_by(scc).iter().copied().collect(),
                None if role.name == "cluster-admin" && role.kind == "ClusterRole" => {
                    ALL.iter().copied().collect()
                }
                None => roles.get(&(role.kind.as_str(), role.name.as_str())).cloned().unwrap_or_default(),
            };
            for subject in subjects.iter().flatten() {
                match subject.kind.as_str() {
                    "ServiceAccount" => {
                        self.accounts.entry(subject.name.as_str()).or_default().extend(&allowed);
                    }
                    "Group" if is_group_of_accounts(&subject.name) => self.all.extend(&allowed),
                    _ => {}
                }
            }
        }
    }
}

/// Returns whether all service accounts, at least those of one namespace, are in a group.
fn is_group_of_accounts(group: &str) -> bool {
    group == "system:authenticated" || group.starts_with("system:serviceaccounts")
}
