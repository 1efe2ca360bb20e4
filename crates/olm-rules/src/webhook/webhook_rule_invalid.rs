use crate::prelude::*;
use std::collections::BTreeSet;

pub(crate) static RULE: Rule = Rule {
    id: "webhook-rule-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A rule of a webhook has no operations, groups, versions or resources, an unknown one, or one that is covered by a wildcard.",
    impacts: &[Impact::WebhookRejected],
    help: "set operations, apiGroups, apiVersions and resources; a wildcard must be the only entry of its list",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/admissionregistration/validation/validation.go",
        &["validateRuleWithOperations"],
    )
    .since("1.16")],
    check: Check::Webhook(check),
};

fn check(webhook: &Webhook<'_>, errors: &mut ErrorReporter<'_, '_>) {
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
                errors.add(&list.index(index), "empty API version");
            }
        }
        resources(rule.resources.as_deref().unwrap_or_default(), &path.field("resources"), errors);
        if let Some(scope) = &rule.scope {
            errors.one_of(&path.field("scope"), scope, &["*", "Cluster", "Namespaced"]);
        }
    }
}

/// Validates a list that must not be empty, and in which `*` must be the only entry.
fn lone(list: &[String], field: &str, path: &Path<'_>, errors: &mut ErrorReporter<'_, '_>) {
    if list.is_empty() {
        errors.add(&path.field(field), format!("missing required field `{field}`"));
    } else if list.len() > 1 && list.iter().any(|item| item == "*") {
        errors.add(&path.field(field), "`*` must be the only entry");
    }
}

fn resources(list: &[String], path: &Path<'_>, errors: &mut ErrorReporter<'_, '_>) {
    if list.is_empty() {
        errors.add(path, "missing required field `resources`");
    }
    let (mut whole, mut parts) = (BTreeSet::new(), BTreeSet::new());
    // As in Kubernetes, only the last resource without a subresource is considered.
    let mut plain = false;
    for (index, item) in list.iter().enumerate() {
        let path = path.index(index);
        if item.is_empty() {
            errors.add(&path, "empty resource");
            continue;
        }
        let Some((resource, part)) = item.split_once('/') else {
            plain = item != "*";
            continue;
        };
        if whole.contains(resource) {
            errors.add(&path, format!("redundant resource `{item}`: covered by `{resource}/*`"));
        } else if parts.contains(part) {
            errors.add(&path, format!("redundant resource `{item}`: covered by `*/{part}`"));
        }
        if part == "*" {
            whole.insert(resource);
        }
        if resource == "*" {
            parts.insert(part);
        }
    }
    if list.len() > 1 && list.iter().any(|item| item == "*/*") {
        errors.add(path, "`*/*` must be the only entry");
    }
    if plain && list.iter().any(|item| item == "*") {
        errors.add(path, "`*` must be the only resource without a subresource");
    }
}
