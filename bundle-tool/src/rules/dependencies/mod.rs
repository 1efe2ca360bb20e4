//! Dependencies and properties of a bundle: `dependencies.yaml` and `properties.yaml`.

mod constraint;
mod dependencies_unread;
mod dependency_incomplete;
mod dependency_range_invalid;
mod dependency_rule_invalid;
mod dependency_type_unknown;
mod dependency_value_wrong;
mod entries;
mod olmv1_dependency_unsupported;
mod property_constraint_invalid;
mod property_incomplete;
mod property_required_invalid;

use super::Rule;

/// The rules of this directory, sorted by id.
pub(super) static RULES: &[&Rule] = &[
    &dependencies_unread::RULE,
    &dependency_incomplete::RULE,
    &dependency_range_invalid::RULE,
    &dependency_rule_invalid::RULE,
    &dependency_type_unknown::RULE,
    &dependency_value_wrong::RULE,
    &olmv1_dependency_unsupported::RULE,
    &property_constraint_invalid::RULE,
    &property_incomplete::RULE,
    &property_required_invalid::RULE,
];
