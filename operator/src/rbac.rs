//! The operator's permissions, as data.
//!
//! Every permission is listed once, with the reason for it; `config/rbac` and the bundle's permissions are generated from
//! this list, and the tests compare it with the requests that the operator makes. Nothing here grants `*`.

use k8s_openapi::api::rbac::v1::PolicyRule;

/// How the use of a permission can be observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// As a request with this verb, in the API server's audit log.
    Request,
    /// Only inside another request: the API server checks it while it handles that request.
    Implied,
}

/// One permission: verbs on a resource, and the reason.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The resource's API group; empty for the core group.
    pub group: &'static str,
    /// The resource's plural name, with `/SUBRESOURCE` for a subresource.
    pub resource: &'static str,
    /// The allowed verbs.
    pub verbs: &'static [&'static str],
    /// The names that it is limited to; empty for all.
    pub names: &'static [&'static str],
    /// How its use can be observed.
    pub shows: Use,
    /// Why the operator needs it.
    pub why: &'static str,
}

const fn rule(
    group: &'static str,
    resource: &'static str,
    verbs: &'static [&'static str],
    why: &'static str,
) -> Rule {
    Rule { group, resource, verbs, names: &[], shows: Use::Request, why }
}

const fn implied(
    group: &'static str,
    resource: &'static str,
    verbs: &'static [&'static str],
    why: &'static str,
) -> Rule {
    Rule { group, resource, verbs, names: &[], shows: Use::Implied, why }
}

/// Permissions in every watched namespace.
pub const WATCHED: &[Rule] = &[
    rule("cache.example.com", "memcacheds", &["list", "watch"], "the controller watches all Memcacheds"),
    rule("cache.example.com", "memcacheds", &["patch"], "adds and removes the finalizer"),
    rule("cache.example.com", "memcacheds/status", &["patch"], "writes the status"),
    implied(
        "cache.example.com",
        "memcacheds/finalizers",
        &["update"],
        "required to set blockOwnerDeletion where OwnerReferencesPermissionEnforcement is enabled",
    ),
    rule("apps", "deployments", &["list", "patch", "watch"], "the servers of a Memcached are a Deployment"),
    rule("apps", "deployments", &["get"], "finds out who owns an object after a conflict"),
    implied("apps", "deployments", &["create"], "server-side apply creates objects that do not exist"),
    rule("", "services", &["list", "patch", "watch"], "clients find the servers through a headless Service"),
    rule("", "services", &["get"], "finds out who owns an object after a conflict"),
    implied("", "services", &["create"], "server-side apply creates objects that do not exist"),
    rule(
        "policy",
        "poddisruptionbudgets",
        &["list", "patch", "watch"],
        "node drains evict one server at a time",
    ),
    rule("policy", "poddisruptionbudgets", &["get"], "finds out who owns an object after a conflict"),
    rule("policy", "poddisruptionbudgets", &["delete"], "a single server has no disruption budget"),
    implied(
        "policy",
        "poddisruptionbudgets",
        &["create"],
        "server-side apply creates objects that do not exist",
    ),
    rule("events.k8s.io", "events", &["create", "patch"], "records events on Memcacheds"),
    rule("", "pods", &["list", "watch"], "status.nodes lists their names"),
];

/// Permissions in the whole cluster, whatever is watched.
pub const CLUSTER: &[Rule] = &[
    rule("authentication.k8s.io", "tokenreviews", &["create"], "authenticates readers of the metrics"),
    rule("authorization.k8s.io", "subjectaccessreviews", &["create"], "authorizes readers of the metrics"),
    Rule {
        group: "admissionregistration.k8s.io",
        resource: "mutatingwebhookconfigurations",
        verbs: &["list", "patch", "watch"],
        names: &["memcached-operator-mutating-webhook-configuration"],
        shows: Use::Request,
        why: "writes the CA bundle of the manager's own certificate",
    },
    Rule {
        group: "admissionregistration.k8s.io",
        resource: "validatingwebhookconfigurations",
        verbs: &["list", "patch", "watch"],
        names: &["memcached-operator-validating-webhook-configuration"],
        shows: Use::Request,
        why: "writes the CA bundle of the manager's own certificate",
    },
];

/// Permissions in the manager's own namespace.
pub const OWN: &[Rule] = &[
    rule("coordination.k8s.io", "leases", &["create"], "the first manager creates the Lease"),
    Rule {
        group: "coordination.k8s.io",
        resource: "leases",
        verbs: &["get", "update"],
        names: &["memcached-operator.cache.example.com"],
        shows: Use::Request,
        why: "leader election",
    },
    rule("", "secrets", &["create"], "the first manager creates the webhook certificate"),
    Rule {
        group: "",
        resource: "secrets",
        verbs: &["list", "update", "watch"],
        names: &["memcached-operator-webhook-server-cert"],
        shows: Use::Request,
        why: "all managers share and renew the webhook certificate",
    },
];

/// Returns the rules in the form of the API: verbs of one resource joined, everything sorted.
#[must_use]
pub fn policy_rules(rules: &[Rule]) -> Vec<PolicyRule> {
    let mut joined: Vec<(&Rule, Vec<&str>)> = Vec::new();
    for rule in rules {
        let same = |other: &Rule| {
            (other.group, other.resource, other.names) == (rule.group, rule.resource, rule.names)
        };
        if let Some((_, verbs)) = joined.iter_mut().find(|(other, _)| same(other)) {
            verbs.extend(rule.verbs);
        } else {
            joined.push((rule, rule.verbs.to_vec()));
        }
    }
    joined.sort_by_key(|(rule, _)| (rule.group, rule.resource, rule.names));
    let strings = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
    joined
        .into_iter()
        .map(|(rule, mut verbs)| {
            verbs.sort_unstable();
            verbs.dedup();
            PolicyRule {
                api_groups: Some(vec![rule.group.to_owned()]),
                resources: Some(vec![rule.resource.to_owned()]),
                resource_names: (!rule.names.is_empty()).then(|| strings(rule.names)),
                verbs: strings(&verbs),
                ..PolicyRule::default()
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_granted_to_everything() {
        for rule in [WATCHED, CLUSTER, OWN].concat() {
            assert!(!rule.verbs.contains(&"*") && rule.resource != "*" && rule.group != "*", "{rule:?}");
            assert!(!rule.why.is_empty(), "{rule:?} has a reason");
        }
    }

    #[test]
    fn names_are_the_ones_that_the_manager_uses() {
        use crate::manifests::{PREFIX, names};
        let named = |resource: &str| {
            let rules = [CLUSTER, OWN].concat();
            rules.into_iter().find(|r| r.resource == resource && !r.names.is_empty()).unwrap().names[0]
        };
        assert_eq!(named("leases"), names::LEASE);
        assert_eq!(named("secrets"), crate::manager::SECRET);
        assert_eq!(named("mutatingwebhookconfigurations"), format!("{PREFIX}{}", names::MUTATING));
        assert_eq!(named("validatingwebhookconfigurations"), format!("{PREFIX}{}", names::VALIDATING));
    }

    #[test]
    fn verbs_of_one_resource_are_joined_and_sorted() {
        let rules = policy_rules(WATCHED);
        let deployments = rules.iter().find(|r| r.resources.as_deref() == Some(&["deployments".to_owned()]));
        assert_eq!(deployments.unwrap().verbs, ["create", "get", "list", "patch", "watch"]);
    }
}
