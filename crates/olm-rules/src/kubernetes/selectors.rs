//! Label selectors: their validation, and what they match.
//!
//! Source: `k8s.io/apimachinery/pkg/apis/meta/v1/validation/validation.go` (`ValidateLabelSelector`).

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

use super::{labels, names};
use crate::errors::ErrorReporter;
use kube_yaml::Path;

/// Validates the keys, operators and values of a selector; no selector is valid.
pub(crate) fn validate(
    selector: Option<&LabelSelector>,
    path: &Path<'_>,
    errors: &mut ErrorReporter<'_, '_>,
) {
    let Some(selector) = selector else { return };
    labels::validate(selector.match_labels.as_ref(), &path.field("matchLabels"), errors);
    let list = path.field("matchExpressions");
    for (index, requirement) in selector.match_expressions.iter().flatten().enumerate() {
        let path = list.index(index);
        let values = requirement.values.as_deref().unwrap_or_default();
        match requirement.operator.as_str() {
            "In" | "NotIn" if values.is_empty() => {
                let message =
                    format!("missing values: operator `{}` requires at least one", requirement.operator);
                errors.add(&path.field("values"), message);
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let message =
                    format!("unexpected values: operator `{}` does not accept any", requirement.operator);
                errors.add(&path.field("values"), message);
            }
            operator => {
                errors.one_of(&path.field("operator"), operator, &["In", "NotIn", "Exists", "DoesNotExist"]);
            }
        }
        errors.check(&path.field("key"), names::label_key(&requirement.key));
        let list = path.field("values");
        for (index, value) in values.iter().enumerate() {
            errors.check(&list.index(index), names::label_value(value));
        }
    }
}

/// Returns whether the selector has no requirements.
pub(crate) fn is_empty(selector: &LabelSelector) -> bool {
    selector.match_labels.as_ref().is_none_or(BTreeMap::is_empty)
        && selector.match_expressions.as_ref().is_none_or(Vec::is_empty)
}

/// Returns whether a valid selector matches the labels.
pub(crate) fn matches(selector: &LabelSelector, labels: Option<&BTreeMap<String, String>>) -> bool {
    let value = |key: &str| labels.and_then(|labels| labels.get(key));
    selector.match_labels.iter().flatten().all(|(key, wanted)| value(key) == Some(wanted))
        && selector
            .match_expressions
            .iter()
            .flatten()
            .all(|requirement| fulfils(requirement, value(&requirement.key)))
}

fn fulfils(requirement: &LabelSelectorRequirement, value: Option<&String>) -> bool {
    let listed = || value.is_some_and(|value| requirement.values.iter().flatten().any(|item| item == value));
    match requirement.operator.as_str() {
        "In" => listed(),
        "NotIn" => !listed(),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        _ => false,
    }
}

/// Returns the keys of a selector.
pub(crate) fn keys(selector: Option<&LabelSelector>) -> std::collections::BTreeSet<&str> {
    let selector = selector.into_iter();
    let labels = selector.clone().flat_map(|selector| selector.match_labels.iter().flat_map(BTreeMap::keys));
    let requirements = selector.flat_map(|selector| selector.match_expressions.iter().flatten());
    labels.map(String::as_str).chain(requirements.map(|requirement| requirement.key.as_str())).collect()
}

/// Validates `matchLabelKeys` and `mismatchLabelKeys`, whose values come from the pod itself.
///
/// Source: `k8s.io/kubernetes/pkg/apis/core/validation/validation.go` (`ValidateMatchLabelKeysAndMismatchLabelKeys`).
pub(crate) fn label_keys(
    selector: Option<&LabelSelector>,
    matching: &[String],
    differing: &[String],
    path: &Path<'_>,
    errors: &mut ErrorReporter<'_, '_>,
) {
    for (field, keys) in [("matchLabelKeys", matching), ("mismatchLabelKeys", differing)] {
        let list = path.field(field);
        if !keys.is_empty() && selector.is_none() {
            errors.add(&list, format!("`{field}` requires `labelSelector`"));
            continue;
        }
        for (index, key) in keys.iter().enumerate() {
            errors.check(&list.index(index), names::label_key(key));
        }
    }
    let list = path.field("matchLabelKeys");
    let mut selected: std::collections::BTreeSet<&String> =
        selector.iter().flat_map(|selector| selector.match_labels.iter().flat_map(BTreeMap::keys)).collect();
    let mut numbers = BTreeMap::new();
    for (index, key) in matching.iter().enumerate() {
        numbers.entry(key).or_insert(index);
    }
    for requirement in selector.iter().flat_map(|selector| selector.match_expressions.iter().flatten()) {
        if let Some(&index) = numbers.get(&requirement.key)
            && !selected.insert(&requirement.key)
        {
            errors.add(&list.index(index), format!("key `{}` is also in `labelSelector`", requirement.key));
        }
        selected.insert(&requirement.key);
    }
    let differing: std::collections::BTreeSet<_> = differing.iter().collect();
    for (index, key) in matching.iter().enumerate().filter(|(_, key)| differing.contains(key)) {
        errors.add(&list.index(index), format!("key `{key}` is also in `mismatchLabelKeys`"));
    }
}
