//! Roles and bindings from the typed rules of [`crate::rbac`].

use super::Naming;
use crate::crd::GROUP;
use crate::rbac::{self, policy_rules};
use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
};

const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

/// Returns the manager's permissions in the namespaces that it watches.
pub(crate) fn manager_role(naming: Naming) -> ClusterRole {
    ClusterRole {
        metadata: naming.cluster("manager-role"),
        rules: Some(policy_rules(rbac::WATCHED)),
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
pub(crate) fn cluster_role(naming: Naming) -> ClusterRole {
    ClusterRole {
        metadata: naming.cluster("cluster-role"),
        rules: Some(policy_rules(rbac::CLUSTER)),
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
pub(crate) fn leader_election_role(naming: Naming) -> Role {
    Role { metadata: naming.namespaced("leader-election-role"), rules: Some(policy_rules(rbac::OWN)) }
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

/// Returns the role for users who manage Memcacheds; cluster administrators bind it.
pub(crate) fn editor_role(naming: Naming) -> ClusterRole {
    user_role(
        naming,
        "memcached-editor-role",
        &["create", "delete", "get", "list", "patch", "update", "watch"],
    )
}

/// Returns the role for users who may read Memcacheds; cluster administrators bind it.
pub(crate) fn viewer_role(naming: Naming) -> ClusterRole {
    user_role(naming, "memcached-viewer-role", &["get", "list", "watch"])
}

fn user_role(naming: Naming, name: &str, verbs: &[&str]) -> ClusterRole {
    let rule = |resource: &str, verbs: &[&str]| PolicyRule {
        api_groups: Some(vec![GROUP.to_owned()]),
        resources: Some(vec![resource.to_owned()]),
        verbs: verbs.iter().map(ToString::to_string).collect(),
        ..PolicyRule::default()
    };
    let writes = verbs.contains(&"update");
    let scale = rule("memcacheds/scale", if writes { &["get", "patch", "update"] } else { &["get"] });
    ClusterRole {
        metadata: naming.cluster(name),
        rules: Some(vec![rule("memcacheds", verbs), scale, rule("memcacheds/status", &["get"])]),
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
