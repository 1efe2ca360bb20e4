//! The `ClusterServiceVersion`: decoding by OLM, and validation by its CRD's schema and by operator-sdk.

mod annotation_case;
mod csv_api_version_wrong;
mod csv_field_missing;
mod csv_name_invalid;
mod csv_release_invalid;
mod csv_release_name;
mod csv_replaces_itself;
mod csv_skip_range_invalid;
mod csv_skips_itself;
mod csv_undecodable;
mod csv_unknown_field;
mod csv_version_invalid;
mod csv_version_missing;
mod csv_version_not_strict;
mod descriptor_value_invalid;
mod example_annotations_both;
mod example_annotations_missing;
mod example_foreign;
mod example_invalid;
mod example_missing;
mod examples;
mod icon_not_base64;
mod install_mode_duplicate;
mod install_mode_none;
mod install_mode_unknown;
mod install_strategy_unknown;
mod min_kube_version_invalid;
mod min_kube_version_missing;
mod min_kube_version_unknown;
mod permission_rules_missing;
mod pod_list_duplicate;
mod properties_annotation;
mod related_image_invalid;
mod webhook_container_port_invalid;
mod webhook_field_missing;
mod webhook_type_unknown;

use super::Rule;

/// The rules of this directory, sorted by id.
pub(super) static RULES: &[&Rule] = &[
    &annotation_case::RULE,
    &csv_api_version_wrong::RULE,
    &csv_field_missing::RULE,
    &csv_name_invalid::RULE,
    &csv_release_invalid::RULE,
    &csv_release_name::RULE,
    &csv_replaces_itself::RULE,
    &csv_skip_range_invalid::RULE,
    &csv_skips_itself::RULE,
    &csv_undecodable::RULE,
    &csv_unknown_field::RULE,
    &csv_version_invalid::RULE,
    &csv_version_missing::RULE,
    &csv_version_not_strict::RULE,
    &descriptor_value_invalid::RULE,
    &example_annotations_both::RULE,
    &example_annotations_missing::RULE,
    &example_foreign::RULE,
    &example_invalid::RULE,
    &example_missing::RULE,
    &icon_not_base64::RULE,
    &install_mode_duplicate::RULE,
    &install_mode_none::RULE,
    &install_mode_unknown::RULE,
    &install_strategy_unknown::RULE,
    &min_kube_version_invalid::RULE,
    &min_kube_version_missing::RULE,
    &min_kube_version_unknown::RULE,
    &permission_rules_missing::RULE,
    &pod_list_duplicate::RULE,
    &properties_annotation::RULE,
    &related_image_invalid::RULE,
    &webhook_container_port_invalid::RULE,
    &webhook_field_missing::RULE,
    &webhook_type_unknown::RULE,
];
