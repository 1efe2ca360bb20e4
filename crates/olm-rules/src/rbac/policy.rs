//! One rule of a Role or `ClusterRole`, and one subject of a binding.
//!
//! Source: `k8s.io/kubernetes/pkg/apis/rbac/validation/validation.go`.

use k8s_openapi::api::rbac::v1::{PolicyRule, RoleRef, Subject};

use crate::kubernetes::names;
use crate::prelude::*;

/// The group of Roles, users and groups.
const GROUP: &str = "rbac.authorization.k8s.io";

/// Validates verbs, groups, resources and URLs of one rule.
pub(crate) fn rule(rule: &PolicyRule, namespaced: bool, path: &Path<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let empty = |list: &Option<Vec<String>>| list.as_ref().is_none_or(Vec::is_empty);
    if rule.verbs.is_empty() {
        errors.add(&path.field("verbs"), "missing verbs: at least one is required");
    }
    if !empty(&rule.non_resource_urls) {
        let urls = path.field("nonResourceURLs");
        if namespaced {
            errors.add(&urls, "unexpected `nonResourceURLs`: not supported in a namespaced rule");
        }
        if !empty(&rule.api_groups) || !empty(&rule.resources) || !empty(&rule.resource_names) {
            errors.add(&urls, "`nonResourceURLs` and resources are mutually exclusive in one rule");
        }
        return;
    }
    if empty(&rule.api_groups) {
        errors.add(
            &path.field("apiGroups"),
            "missing API groups: at least one is required; the core group is `\"\"`",
        );
    }
    if empty(&rule.resources) {
        errors.add(&path.field("resources"), "missing resources: at least one is required");
    }
}

/// Validates the role of a binding.
pub(crate) fn role(role: &RoleRef, kinds: &[&str], path: &Path<'_>, errors: &mut ErrorReporter<'_, '_>) {
    if !role.api_group.is_empty() {
        errors.one_of(&path.field("apiGroup"), &role.api_group, &[GROUP]);
    }
    errors.one_of(&path.field("kind"), &role.kind, kinds);
    let name = path.field("name");
    if errors.required(&name, &role.name) {
        errors.check(&name, names::path_segment(&role.name));
    }
}

/// Validates the subjects of a binding.
pub(crate) fn subjects(
    subjects: Option<&Vec<Subject>>,
    namespaced: bool,
    path: &Path<'_>,
    errors: &mut ErrorReporter<'_, '_>,
) {
    for (index, subject) in subjects.into_iter().flatten().enumerate() {
        let path = path.index(index);
        let group = subject.api_group.as_deref().unwrap_or_default();
        let name = path.field("name");
        let named = errors.required(&name, &subject.name);
        match subject.kind.as_str() {
            "ServiceAccount" => {
                if named {
                    errors.check(&name, names::dns_subdomain(&subject.name));
                }
                if !group.is_empty() {
                    errors.add(
                        &path.field("apiGroup"),
                        format!("unsupported apiGroup `{group}`: must be empty for a ServiceAccount"),
                    );
                }
                if !namespaced && subject.namespace.as_ref().is_none_or(String::is_empty) {
                    errors.add(
                        &path.field("namespace"),
                        "missing required field `namespace` for a ServiceAccount",
                    );
                }
            }
            "User" | "Group" => {
                if !group.is_empty() {
                    errors.one_of(&path.field("apiGroup"), group, &[GROUP]);
                }
            }
            kind => errors.one_of(&path.field("kind"), kind, &["ServiceAccount", "User", "Group"]),
        }
    }
}
