//! Roles and bindings from the typed rules of [`crate::rbac`].

use super::naming::Naming;
use crate::crd::Crd;
use crate::rbac::{Permissions, policy_rules};
use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
};

const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

/// Returns the manager's permissions in the namespaces that it watches.
pub(crate) fn manager_role(naming: Naming, permissions: &Permissions) -> ClusterRole {
    ClusterRole {
        metadata: naming.cluster("manager-role"),
        rules: Some(policy_rules(&permissions.watched)),
        ..ClusterRole::default()
    }
}

/// Binds [`manager_role`] to the manager's service account.
pub(crate) fn manager_role_binding(naming: Naming) -> ClusterRoleBinding {
    ClusterRoleBinding {
        metadata: naming.cluster("manager-rolebinding"),
        role_ref: role_ref("ClusterRole", naming.name("manager-role")),
        subjects: Some(vec![manager(naming)]),
    }
}

/// Returns the manager's permissions in the whole cluster, whatever it watches.
pub(crate) fn cluster_role(naming: Naming, permissions: &Permissions) -> ClusterRole {
    ClusterRole {
        metadata: naming.cluster("cluster-role"),
        rules: Some(policy_rules(&permissions.cluster)),
        ..ClusterRole::default()
    }
}

/// Binds [`cluster_role`] to the manager's service account.
pub(crate) fn cluster_role_binding(naming: Naming) -> ClusterRoleBinding {
    ClusterRoleBinding {
        metadata: naming.cluster("cluster-rolebinding"),
        role_ref: role_ref("ClusterRole", naming.name("cluster-role")),
        subjects: Some(vec![manager(naming)]),
    }
}

/// Returns the manager's permissions in its own namespace: for its Lease and its certificate.
pub(crate) fn leader_election_role(naming: Naming, permissions: &Permissions) -> Role {
    Role { metadata: naming.namespaced("leader-election-role"), rules: Some(policy_rules(&permissions.own)) }
}

/// Binds [`leader_election_role`] to the manager's service account.
pub(crate) fn leader_election_role_binding(naming: Naming) -> RoleBinding {
    RoleBinding {
        metadata: naming.namespaced("leader-election-rolebinding"),
        role_ref: role_ref("Role", naming.name("leader-election-role")),
        subjects: Some(vec![manager(naming)]),
    }
}

/// Returns the role for readers of the metrics; cluster administrators bind it.
pub(crate) fn metrics_reader(naming: Naming) -> ClusterRole {
    ClusterRole {
        metadata: naming.cluster("metrics-reader"),
        rules: Some(vec![PolicyRule {
            non_resource_urls: Some(vec!["/metrics".to_owned()]),
            verbs: vec!["get".to_owned()],
            ..PolicyRule::default()
        }]),
        ..ClusterRole::default()
    }
}

/// Returns the role for users who manage the objects of a kind, or may read them; cluster administrators bind it.
pub(crate) fn user_role(naming: Naming, name: &str, crd: &Crd, writes: bool) -> ClusterRole {
    let rule = |suffix: &str, verbs: &[&str]| PolicyRule {
        api_groups: Some(vec![crd.group().to_owned()]),
        resources: Some(vec![format!("{}{suffix}", crd.plural())]),
        verbs: verbs.iter().map(ToString::to_string).collect(),
        ..PolicyRule::default()
    };
    let (verbs, scale): (&[&str], &[&str]) = if writes {
        (&["create", "delete", "get", "list", "patch", "update", "watch"], &["get", "patch", "update"])
    } else {
        (&["get", "list", "watch"], &["get"])
    };
    let scale = crd.is_scaled().then(|| rule("/scale", scale));
    let rules = [Some(rule("", verbs)), scale, Some(rule("/status", &["get"]))];
    ClusterRole {
        metadata: naming.cluster(name),
        rules: Some(rules.into_iter().flatten().collect()),
        ..ClusterRole::default()
    }
}

fn manager(naming: Naming) -> Subject {
    Subject {
        kind: "ServiceAccount".to_owned(),
        name: naming.name("controller-manager"),
        namespace: Some(naming.namespace()),
        ..Subject::default()
    }
}

fn role_ref(kind: &str, name: String) -> RoleRef {
    RoleRef { api_group: RBAC_GROUP.to_owned(), kind: kind.to_owned(), name }
}
