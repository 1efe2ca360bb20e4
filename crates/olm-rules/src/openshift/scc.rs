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

/// The SCCs that OpenShift creates and that do not allow everything.
const KNOWN: [&str; 11] = [
    "restricted-v2",
    "restricted-v3",
    "restricted",
    "nonroot-v2",
    "nonroot",
    "anyuid",
    "hostnetwork-v2",
    "hostnetwork",
    "hostmount-anyuid",
    "hostmount-anyuid-v2",
    "hostaccess",
];
/// The SCC that every service account may use.
const RESTRICTED: &str = "restricted-v2";
/// The SCC that allows everything.
const PRIVILEGED: &str = "privileged";
/// The annotation that names the only SCC with which a pod may be admitted.
const REQUIRED_SCC: &str = "openshift.io/required-scc";
/// The prefix of the `ClusterRole`s that OpenShift creates for its SCCs.
const ROLE_OF_SCC: &str = "system:openshift:scc:";

/// Returns the name of an SCC, or `privileged` for one that allows as much: however many names a bundle lists, sets of them are small.
fn representative(scc: &str) -> &'static str {
    KNOWN.into_iter().find(|one| *one == scc).unwrap_or(PRIVILEGED)
}

/// Calls its last argument with each field of a pod that needs more than `restricted-v2`, what it needs, and the problem where that is
/// not allowed.
pub(crate) type Demands = fn(&PodTemplate<'_>, &mut dyn FnMut(&Path<'_>, Concern, String));

/// The demands of all rules.
const DEMANDS: &[Demands] = &[
    super::scc_capability_added::demands,
    super::scc_group_fixed::demands,
    super::scc_host_access::demands,
    super::scc_privileged::demands,
    super::scc_seccomp_forbidden::demands,
    super::scc_selinux_fixed::demands,
    super::scc_user_fixed::demands,
    super::scc_volume_forbidden::demands,
];

/// Reports those of `demands` that the SCC does not allow with which OpenShift would rather admit the pod.
///
/// OpenShift admits a pod if one of the SCCs that its service account may use allows all of it; what several allow together is of
/// no use.
///
/// Source: `computeSecurityContext` in `pkg/securitycontextconstraints/sccadmission/admission.go` of apiserver-library-go.
pub(crate) fn check(context: &Context<'_>, reporter: &mut Reporter<'_>, demands: Demands) {
    let mut bound = Granted::default();
    bound.add_bindings(context);
    for csv in &context.csvs {
        let mut granted = Granted::default();
        granted.add_permissions(csv);
        csv.each_pod_template(|pod| {
            let account = pod.spec.service_account_name.as_deref().filter(|name| !name.is_empty());
            let account = account.unwrap_or("default");
            let usable: BTreeSet<_> =
                [&bound, &granted].into_iter().flat_map(|granted| granted.to(account)).collect();
            let scc = nearest(pod, &usable);
            let mut errors = ErrorReporter::new(pod.object, reporter);
            demands(pod, &mut |path, concern, problem| {
                if allowed_by(scc).contains(&concern) {
                    return;
                }
                match usable.iter().find(|other| allowed_by(other).contains(&concern)) {
                    // One that OpenShift does not create has a name of its own.
                    Some(&PRIVILEGED) => {
                        errors.add(path, format!("{problem}; another SCC allows it, but one has to allow all, here `{scc}`"));
                    }
                    Some(other) => errors.add(
                        path,
                        format!("{problem}; the SCC `{other}` allows it, but one SCC has to allow all, here `{scc}`"),
                    ),
                    None => errors.add(path, problem),
                }
            });
        });
    }
}

/// Returns the SCC that the pod requires, or the one that allows most of what it needs: one of those that it may use, or
/// `restricted-v2`.
fn nearest(pod: &PodTemplate<'_>, usable: &BTreeSet<&'static str>) -> &'static str {
    let annotations = pod.template.metadata.as_ref().and_then(|metadata| metadata.annotations.as_ref());
    let required =
        annotations.and_then(|annotations| annotations.get(REQUIRED_SCC)).map(|scc| representative(scc));
    if let Some(scc) = required.filter(|scc| usable.contains(scc)) {
        return scc;
    }
    if usable.is_empty() || required == Some(RESTRICTED) {
        return RESTRICTED;
    }
    let mut needed = BTreeSet::new();
    for demands in DEMANDS {
        demands(pod, &mut |_, concern, _| {
            needed.insert(concern);
        });
    }
    let denied = |scc: &str| needed.iter().filter(|concern| !allowed_by(scc).contains(concern)).count();
    // The first of several with the same number.
    [RESTRICTED].into_iter().chain(usable.iter().copied()).min_by_key(|scc| denied(scc)).unwrap_or(RESTRICTED)
}

/// Returns all SCCs.
fn every() -> impl Iterator<Item = &'static str> {
    KNOWN.into_iter().chain([PRIVILEGED])
}

/// Returns the SCCs that the rules permit to use.
fn usable_by_rules(rules: &[PolicyRule]) -> BTreeSet<&'static str> {
    let has = |list: &[String], wanted: &str| list.iter().any(|item| item == wanted || item == "*");
    let mut usable = BTreeSet::new();
    for rule in rules {
        if has(rule.api_groups.as_deref().unwrap_or_default(), "security.openshift.io")
            && has(rule.resources.as_deref().unwrap_or_default(), "securitycontextconstraints")
            && has(&rule.verbs, "use")
        {
            match rule.resource_names.as_deref().unwrap_or_default() {
                [] => usable.extend(every()),
                names => usable.extend(names.iter().map(|name| representative(name))),
            }
        }
    }
    usable
}

/// The SCCs that service accounts may use.
#[derive(Debug, Default)]
struct Granted<'c> {
    accounts: BTreeMap<&'c str, BTreeSet<&'static str>>,
    /// What all service accounts have.
    all: BTreeSet<&'static str>,
}

impl<'c> Granted<'c> {
    /// Returns the SCCs that a service account may use.
    fn to(&self, account: &str) -> impl Iterator<Item = &'static str> {
        self.accounts.get(account).into_iter().flatten().chain(&self.all).copied()
    }

    /// Adds the permissions of a CSV.
    fn add_permissions(&mut self, csv: &'c Csv<'_>) {
        let strategy = &csv.typed.spec.install.spec;
        for permission in strategy.cluster_permissions.iter().chain(&strategy.permissions) {
            let granted = self.accounts.entry(permission.service_account_name.as_str()).or_default();
            granted.extend(usable_by_rules(&permission.rules));
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
            let usable = usable_by_rules(permissions.unwrap_or_default());
            if !usable.is_empty() {
                roles.insert((known.object.kind(), known.object.name()), usable);
            }
        }
        for known in &context.known {
            let (role, subjects) = match &known.typed {
                Typed::RoleBinding(binding) => (&binding.role_ref, &binding.subjects),
                Typed::ClusterRoleBinding(binding) => (&binding.role_ref, &binding.subjects),
                _ => continue,
            };
            let of_openshift = role.name.strip_prefix(ROLE_OF_SCC).filter(|_| role.kind == "ClusterRole");
            let usable = match of_openshift {
                Some(scc) => BTreeSet::from([representative(scc)]),
                None if role.name == "cluster-admin" && role.kind == "ClusterRole" => every().collect(),
                None => roles.get(&(role.kind.as_str(), role.name.as_str())).cloned().unwrap_or_default(),
            };
            for subject in subjects.iter().flatten() {
                match subject.kind.as_str() {
                    "ServiceAccount" => {
                        self.accounts.entry(subject.name.as_str()).or_default().extend(&usable);
                    }
                    "Group" if is_group_of_accounts(&subject.name) => self.all.extend(&usable),
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
