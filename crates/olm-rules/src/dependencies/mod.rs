//! Dependencies and properties of a bundle: `dependencies.yaml` and `properties.yaml`.

mod constraint;
mod entries;

super::rule::rule_files! {
    dependencies_unread,
    dependency_incomplete,
    dependency_range_invalid,
    dependency_rule_invalid,
    dependency_type_unknown,
    dependency_value_wrong,
    olmv1_dependency_unsupported,
    property_constraint_invalid,
    property_incomplete,
    property_required_invalid,
}
