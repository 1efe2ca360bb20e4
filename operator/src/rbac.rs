//! What the operator may ask of the API server, as data.
//!
//! Every permission stands here once, with the reason it is needed; `config/rbac` and the bundle's permissions are
//! generated from it, and the tests compare it with the requests that the operator really makes. Nothing here grants `*`.

use k8s_openapi::api::rbac::v1::PolicyRule;

/// How a permission shows when the operator uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// As a request with this verb, in the API server's audit log.
    Request,
    /// Inside another request: the API server asks for it on its own while it handles the other one.
    Implied,
}

/// One permission: the verbs on a resource, and why.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The resource's API group; empty for the core group.
    pub group: &'static str,
    /// The resource's plural name, with `/subresource` where that is meant.
    pub resource: &'static str,
    /// What may be done with it.
    pub verbs: &'static [&'static str],
    /// The only names it may be done with; empty for all.
    pub names: &'static [&'static str],
    /// How the use shows.
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
    rule("cache.example.com", "memcacheds", &["list", "watch"], "the controller follows every Memcached"),
    rule("cache.example.com", "memcacheds", &["patch"], "the finalizer is set and taken away"),
    rule("cache.example.com", "memcacheds/status", &["patch"], "conditions and nodes are written there"),
    implied(
        "cache.example.com",
        "memcacheds/finalizers",
        &["update"],
        "admission asks for it where owner references that block deletion are enforced",
    ),
    rule("apps", "deployments", &["list", "patch", "watch"], "a Memcached's servers are a Deployment"),
    rule("apps", "deployments", &["get"], "whose it is, when somebody else holds its fields"),
    implied("apps", "deployments", &["create"], "an apply of what does not exist yet creates it"),
    rule("", "services", &["list", "patch", "watch"], "clients find the servers by a headless Service"),
    rule("", "services", &["get"], "whose it is, when somebody else holds its fields"),
    implied("", "services", &["create"], "an apply of what does not exist yet creates it"),
    rule(
        "policy",
        "poddisruptionbudgets",
        &["list", "patch", "watch"],
        "node drains take one server at a time",
    ),
    rule("policy", "poddisruptionbudgets", &["get"], "whose it is, when somebody else holds its fields"),
    rule("policy", "poddisruptionbudgets", &["delete"], "a single server needs none"),
    implied("policy", "poddisruptionbudgets", &["create"], "an apply of what does not exist yet creates it"),
    rule("events.k8s.io", "events", &["create", "patch"], "what happens is told on the Memcached"),
    rule("", "pods", &["list", "watch"], "their names are a Memcached's status.nodes"),
];

/// Permissions in the whole cluster that have nothing to do with what is watched.
pub const CLUSTER: &[Rule] = &[
    rule(
        "authentication.k8s.io",
        "tokenreviews",
        &["create"],
        "who reads the metrics is asked of the API server",
    ),
    rule("authorization.k8s.io", "subjectaccessreviews", &["create"], "whether they may is asked of it too"),
    Rule {
        group: "admissionregistration.k8s.io",
        resource: "mutatingwebhookconfigurations",
        verbs: &["get", "patch"],
        names: &["memcached-operator-mutating-webhook-configuration"],
        shows: Use::Request,
        why: "the authority of the manager's own certificate is written there",
    },
    Rule {
        group: "admissionregistration.k8s.io",
        resource: "validatingwebhookconfigurations",
        verbs: &["get", "patch"],
        names: &["memcached-operator-validating-webhook-configuration"],
        shows: Use::Request,
        why: "the authority of the manager's own certificate is written there",
    },
];

/// Permissions in the manager's own namespace.
pub const OWN: &[Rule] = &[
    rule("coordination.k8s.io", "leases", &["create"], "the first manager makes the Lease"),
    Rule {
        group: "coordination.k8s.io",
        resource: "leases",
        verbs: &["get", "update"],
        names: &["memcached-operator.cache.example.com"],
        shows: Use::Request,
        why: "of several managers the one with the Lease works",
    },
    rule("", "secrets", &["create"], "the first manager makes the webhook's certificate"),
    Rule {
        group: "",
        resource: "secrets",
        verbs: &["list", "update", "watch"],
        names: &["memcached-operator-webhook-server-cert"],
        shows: Use::Request,
        why: "all managers serve with one certificate, and renew it",
    },
];

/// The rules in the form the API takes: verbs of one resource joined, everything sorted.
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
            assert!(!rule.why.is_empty(), "{rule:?} says why");
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
