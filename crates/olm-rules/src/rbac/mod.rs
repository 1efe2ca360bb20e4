//! Roles, `ClusterRoles` and their bindings: those in the bundle, and those that OLM creates from the CSV's permissions.
//!
//! Sources: `k8s.io/kubernetes/pkg/apis/rbac/validation`, and how OLM creates them:
//! operator-lifecycle-manager, `pkg/controller/registry/resolver/rbac.go`.

mod policy;

super::rule::rule_files! {
    cluster_role_aggregation_invalid,
    permission_account_invalid,
    permission_rule_invalid,
    role_binding_invalid,
    role_rule_invalid,
}
