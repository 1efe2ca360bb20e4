use k8s_openapi::api::core::v1::NodeSelectorTerm;

use crate::kubernetes::names;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-node-affinity-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The node affinity of a pod has no terms, an invalid expression, or a weight outside of 1 to 100.",
    impacts: &[Impact::DeploymentRejected],
    help: "set key, operator and the values that the operator requires in each expression",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validateNodeAffinity"],
    )
    .since("1.16")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let affinity = template.spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    let Some(affinity) = affinity else { return };
    let path = template.spec_path.field("affinity.nodeAffinity");
    if let Some(required) = &affinity.required_during_scheduling_ignored_during_execution {
        let list = path.field("requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms");
        if required.node_selector_terms.is_empty() {
            errors.add(&list, "missing terms: at least one is required");
        }
        for (index, one) in required.node_selector_terms.iter().enumerate() {
            term(one, true, &list.index(index), errors);
        }
    }
    let list = path.field("preferredDuringSchedulingIgnoredDuringExecution");
    let preferred = affinity.preferred_during_scheduling_ignored_during_execution.as_ref();
    for (index, preferred) in preferred.into_iter().flatten().enumerate() {
        let path = list.index(index);
        if !(1..=100).contains(&preferred.weight) {
            errors.add(
                &path.field("weight"),
                format!("invalid weight {}: must be between 1 and 100", preferred.weight),
            );
        }
        // The values of preferences are not validated.
        term(&preferred.preference, false, &path.field("preference"), errors);
    }
}

/// The first version of Kubernetes that validates the values of required expressions.
const LABEL_VALUES: u16 = 32;

fn term(term: &NodeSelectorTerm, validate_values: bool, path: &Path<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let list = path.field("matchExpressions");
    for (index, requirement) in term.match_expressions.iter().flatten().enumerate() {
        let path = list.index(index);
        let values = requirement.values.as_deref().unwrap_or_default();
        let list = path.field("values");
        match requirement.operator.as_str() {
            "In" | "NotIn" if values.is_empty() => {
                let message =
                    format!("missing values: operator `{}` requires at least one", requirement.operator);
                errors.add(&list, message);
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let message =
                    format!("unexpected values: operator `{}` does not accept any", requirement.operator);
                errors.add(&list, message);
            }
            "Gt" | "Lt" if values.len() != 1 => {
                let message =
                    format!("invalid values: operator `{}` requires exactly one", requirement.operator);
                errors.add(&list, message);
            }
            operator => {
                let known = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];
                errors.one_of(&path.field("operator"), operator, &known);
            }
        }
        errors.check(&path.field("key"), names::label_key(&requirement.key));
        for (index, value) in values.iter().enumerate().filter(|_| validate_values) {
            match names::label_value(value) {
                Err(message) if errors.since(LABEL_VALUES) => errors.add(&list.index(index), message),
                _ => {}
            }
        }
    }
    let list = path.field("matchFields");
    for (index, requirement) in term.match_fields.iter().flatten().enumerate() {
        let path = list.index(index);
        let values = requirement.values.as_deref().unwrap_or_default();
        let list = path.field("values");
        errors.one_of(&path.field("operator"), &requirement.operator, &["In", "NotIn"]);
        if matches!(requirement.operator.as_str(), "In" | "NotIn") && values.len() != 1 {
            errors.add(&list, "invalid values: a field requires exactly one");
        }
        if requirement.key == "metadata.name" {
            for (index, value) in values.iter().enumerate() {
                errors.check(&list.index(index), names::dns_subdomain(value));
            }
        } else {
            errors.add(
                &path.field("key"),
                format!("unsupported field `{}`: must be `metadata.name`", requirement.key),
            );
        }
    }
}
