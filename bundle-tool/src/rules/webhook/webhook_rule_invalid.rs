use std::collections::BTreeSet;

use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::kubernetes::Errors;
use crate::rules::webhook::Webhook;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "webhook-rule-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A rule of a webhook has no operations, groups, versions or resources, an unknown one, or one beside a wildcard that covers it.",
    why: "The API server refuses the webhook, and the CSV fails with InstallComponentFailed.",
    help: "give operations, apiGroups, apiVersions and resources; `*` stands alone",
    source: "k8s.io/kubernetes, pkg/apis/admissionregistration/validation/validation.go (validateRuleWithOperations)",
    check: Check::Webhook(check),
};

fn check(webhook: &Webhook<'_>, errors: &mut Errors<'_, '_>) {
    if !webhook.is_admission() {
        return;
    }
    let list = webhook.path.field("rules");
    for (index, rule) in webhook.typed.rules.iter().enumerate() {
        let path = list.index(index);
        let operations = rule.operations.as_deref().unwrap_or_default();
        lone(operations, "operations", &path, errors);
        let list = path.field("operations");
        for (index, operation) in operations.iter().enumerate() {
            errors.one_of(&list.index(index), operation, &["*", "CONNECT", "CREATE", "DELETE", "UPDATE"]);
        }
        lone(rule.api_groups.as_deref().unwrap_or_default(), "apiGroups", &path, errors);
        let versions = rule.api_versions.as_deref().unwrap_or_default();
        lone(versions, "apiVersions", &path, errors);
        let list = path.field("apiVersions");
        for (index, version) in versions.iter().enumerate() {
            if version.is_empty() {
                errors.add(&list.index(index), "the version is empty");
            }
        }
        resources(rule.resources.as_deref().unwrap_or_default(), &path.field("resources"), errors);
        if let Some(scope) = &rule.scope {
            errors.one_of(&path.field("scope"), scope, &["*", "Cluster", "Namespaced"]);
        }
    }
}

/// A list that is not empty, in which `*` stands alone.
fn lone(list: &[String], field: &str, path: &Path<'_>, errors: &mut Errors<'_, '_>) {
    if list.is_empty() {
        errors.add(&path.field(field), format!("{field} is missing"));
    } else if list.len() > 1 && list.iter().any(|item| item == "*") {
        errors.add(&path.field(field), "beside '*', there are others");
    }
}

fn resources(list: &[String], path: &Path<'_>, errors: &mut Errors<'_, '_>) {
    if list.is_empty() {
        errors.add(path, "resources is missing");
    }
    let (mut whole, mut parts) = (BTreeSet::new(), BTreeSet::new());
    // As in Kubernetes, only the last resource without a subresource counts.
    let mut plain = false;
    for (index, item) in list.iter().enumerate() {
        let path = path.index(index);
        if item.is_empty() {
            errors.add(&path, "the resource is empty");
            continue;
        }
        let Some((resource, part)) = item.split_once('/') else {
            plain = item != "*";
            continue;
        };
        if whole.contains(resource) {
            errors.add(&path, format!("'{resource}/*' covers '{item}'"));
        } else if parts.contains(part) {
            errors.add(&path, format!("'*/{part}' covers '{item}'"));
        }
        if part == "*" {
            whole.insert(resource);
        }
        if resource == "*" {
            parts.insert(part);
        }
    }
    if list.len() > 1 && list.iter().any(|item| item == "*/*") {
        errors.add(path, "beside '*/*', there are others");
    }
    if plain && list.iter().any(|item| item == "*") {
        errors.add(path, "beside '*', there are other resources");
    }
}
