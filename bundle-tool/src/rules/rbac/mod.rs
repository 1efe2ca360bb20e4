//! Roles, `ClusterRoles` and their bindings: those in the bundle, and those that OLM creates from the CSV's permissions.
//!
//! Sources: `k8s.io/kubernetes/pkg/apis/rbac/validation`, and how OLM creates them:
//! operator-lifecycle-manager, `pkg/controller/registry/resolver/rbac.go`.

mod cluster_role_aggregation_invalid;
mod permission_account_invalid;
mod permission_rule_invalid;
mod policy;
mod role_binding_invalid;
mod role_rule_invalid;
use super::Rule;

/// The rules of this directory, sorted by id.
pub(super) static RULES: &[&Rule] = &[
    &cluster_role_aggregation_invalid::RULE,
    &permission_account_invalid::RULE,
    &permission_rule_invalid::RULE,
    &role_binding_invalid::RULE,
    &role_rule_invalid::RULE,
];
