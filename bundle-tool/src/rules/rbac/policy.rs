//! One rule of a Role or `ClusterRole`, and one subject of a binding.
//!
//! Source: `k8s.io/kubernetes/pkg/apis/rbac/validation/validation.go`.

use k8s_openapi::api::rbac::v1::{PolicyRule, RoleRef, Subject};

use crate::model::yaml::Path;
use crate::rules::kubernetes::{Errors, names};

/// The group of Roles, users and groups.
const GROUP: &str = "rbac.authorization.k8s.io";

/// Verbs, groups, resources and URLs of one rule.
pub(super) fn rule(rule: &PolicyRule, namespaced: bool, path: &Path<'_>, errors: &mut Errors<'_, '_>) {
    let empty = |list: &Option<Vec<String>>| list.as_ref().is_none_or(Vec::is_empty);
    if rule.verbs.is_empty() {
        errors.add(&path.field("verbs"), "the rule has no verbs: it allows nothing");
    }
    if !empty(&rule.non_resource_urls) {
        let urls = path.field("nonResourceURLs");
        if namespaced {
            errors.add(&urls, "a rule within a namespace cannot be for URLs: move it to a ClusterRole");
        }
        if !empty(&rule.api_groups) || !empty(&rule.resources) || !empty(&rule.resource_names) {
            errors.add(&urls, "the rule is for URLs and for resources; make it two rules");
        }
        return;
    }
    if empty(&rule.api_groups) {
        errors.add(&path.field("apiGroups"), "the rule names no API group; the core group is \"\"");
    }
    if empty(&rule.resources) {
        errors.add(&path.field("resources"), "the rule names no resources");
    }
}

/// The role that a binding gives.
pub(super) fn role(role: &RoleRef, kinds: &[&str], path: &Path<'_>, errors: &mut Errors<'_, '_>) {
    if !role.api_group.is_empty() {
        errors.one_of(&path.field("apiGroup"), &role.api_group, &[GROUP]);
    }
    errors.one_of(&path.field("kind"), &role.kind, kinds);
    let name = path.field("name");
    if errors.required(&name, &role.name) {
        errors.check(&name, names::path_segment(&role.name));
    }
}

/// Whom a binding gives the role to.
pub(super) fn subjects(
    subjects: Option<&Vec<Subject>>,
    namespaced: bool,
    path: &Path<'_>,
    errors: &mut Errors<'_, '_>,
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
                        format!("a ServiceAccount is in the core group, not in '{group}'"),
                    );
                }
                if !namespaced && subject.namespace.as_ref().is_none_or(String::is_empty) {
                    errors.add(&path.field("namespace"), "namespace is missing: a ServiceAccount has one");
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
