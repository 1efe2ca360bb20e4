//! Permissions as data.
//!
//! Every permission is listed once, with the reason for it. Most derive from what an operator is made of (see
//! [`Operator::permissions`](crate::Operator::permissions)); roles and the bundle's permissions are generated from the list,
//! and the mock API server compares it with the requests that are made. Nothing here grants `*`.

use k8s_openapi::api::rbac::v1::PolicyRule;
use std::borrow::Cow;

/// How the use of a permission can be observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermissionUse {
    /// As a request with this verb, in the API server's audit log.
    Request,
    /// Only inside another request: the API server checks it while it handles that request.
    Implied,
}

/// One permission: verbs on a resource, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The resource's API group; empty for the core group.
    pub group: Cow<'static, str>,
    /// The resource's plural name, with `/SUBRESOURCE` for a subresource.
    pub resource: Cow<'static, str>,
    /// The allowed verbs.
    pub verbs: &'static [&'static str],
    /// The names that it is limited to; empty for all.
    pub names: Vec<String>,
    /// How its use can be observed.
    pub shows: PermissionUse,
    /// Why the operator needs it.
    pub why: &'static str,
}

impl Rule {
    /// Returns a permission that is used by requests.
    pub fn new(
        group: impl Into<Cow<'static, str>>,
        resource: impl Into<Cow<'static, str>>,
        verbs: &'static [&'static str],
        why: &'static str,
    ) -> Self {
        Self {
            group: group.into(),
            resource: resource.into(),
            verbs,
            names: Vec::new(),
            shows: PermissionUse::Request,
            why,
        }
    }

    /// Returns this as a permission that only shows inside other requests.
    #[must_use]
    pub fn implied(self) -> Self {
        Self { shows: PermissionUse::Implied, ..self }
    }

    /// Returns this limited to objects with these names.
    #[must_use]
    pub fn named(self, names: impl IntoIterator<Item = String>) -> Self {
        Self { names: names.into_iter().collect(), ..self }
    }

    /// Returns whether it allows a verb on a resource.
    #[must_use]
    pub fn allows(&self, verb: &str, group: &str, resource: &str) -> bool {
        self.group == group && self.resource == resource && self.verbs.contains(&verb)
    }
}

/// All permissions of an operator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    /// In every watched namespace.
    pub watched: Vec<Rule>,
    /// In the whole cluster, whatever is watched.
    pub cluster: Vec<Rule>,
    /// In the manager's own namespace.
    pub own: Vec<Rule>,
}

impl Permissions {
    /// Returns all rules.
    pub fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.watched.iter().chain(&self.cluster).chain(&self.own)
    }
}

/// Returns the rules in the form of the API: verbs of one resource joined, everything sorted.
#[must_use]
pub fn policy_rules(rules: &[Rule]) -> Vec<PolicyRule> {
    let mut joined: Vec<(&Rule, Vec<&str>)> = Vec::new();
    for rule in rules {
        let same = |other: &Rule| {
            (&other.group, &other.resource, &other.names) == (&rule.group, &rule.resource, &rule.names)
        };
        if let Some((_, verbs)) = joined.iter_mut().find(|(other, _)| same(other)) {
            verbs.extend(rule.verbs);
        } else {
            joined.push((rule, rule.verbs.to_vec()));
        }
    }
    joined.sort_by_key(|(rule, _)| (&rule.group, &rule.resource, &rule.names));
    joined
        .into_iter()
        .map(|(rule, mut verbs)| {
            verbs.sort_unstable();
            verbs.dedup();
            PolicyRule {
                api_groups: Some(vec![rule.group.clone().into_owned()]),
                resources: Some(vec![rule.resource.clone().into_owned()]),
                resource_names: (!rule.names.is_empty()).then(|| rule.names.clone()),
                verbs: verbs.into_iter().map(ToOwned::to_owned).collect(),
                ..PolicyRule::default()
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sample::{IDENTITY, operator};

    #[test]
    fn permissions_contain_no_wildcards_and_have_reasons() {
        for rule in operator().permissions().iter() {
            assert!(!rule.verbs.contains(&"*") && rule.resource != "*" && rule.group != "*", "{rule:?}");
            assert!(!rule.why.is_empty(), "{rule:?} has a reason");
        }
    }

    #[test]
    fn names_are_the_ones_that_the_manager_uses() {
        let permissions = operator().permissions();
        let named = |resource: &str| {
            permissions.iter().find(|r| r.resource == resource && !r.names.is_empty()).unwrap().names[0]
                .clone()
        };
        assert_eq!(named("leases"), IDENTITY.lease());
        assert_eq!(named("secrets"), IDENTITY.secret());
        assert_eq!(named("mutatingwebhookconfigurations"), "test-operator-mutating-webhook-configuration");
        assert_eq!(
            named("validatingwebhookconfigurations"),
            "test-operator-validating-webhook-configuration"
        );
    }

    #[test]
    fn verbs_of_one_resource_are_joined_and_sorted() {
        let rules = policy_rules(&operator().permissions().watched);
        let verbs = |resource: &str| {
            let found = rules.iter().find(|r| r.resources.as_deref() == Some(&[resource.to_owned()]));
            found.unwrap().verbs.clone()
        };
        assert_eq!(verbs("deployments"), ["create", "get", "list", "patch", "watch"]);
        assert_eq!(verbs("configmaps"), ["create", "delete", "get", "list", "patch", "watch"], "optional");
    }
}
