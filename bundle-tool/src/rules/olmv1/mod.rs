//! The suite `olmv1`: what OLM v1's operator-controller rejects and OLM v0 accepts.

mod olmv1_api_service_owned;
mod olmv1_conversion_crd_duplicate;
mod olmv1_deployment_duplicate;
mod olmv1_install_mode_missing;
mod olmv1_metadata_type;
mod olmv1_operator_condition_used;
mod olmv1_package_missing;
mod olmv1_webhook_deployment_unknown;
mod olmv1_webhook_name_invalid;
mod olmv1_webhook_port_missing;
mod olmv1_webhook_rule_forbidden;

use super::Rule;

/// The rules of this directory, sorted by id.
pub(super) static RULES: &[&Rule] = &[
    &olmv1_api_service_owned::RULE,
    &olmv1_conversion_crd_duplicate::RULE,
    &olmv1_deployment_duplicate::RULE,
    &olmv1_install_mode_missing::RULE,
    &olmv1_metadata_type::RULE,
    &olmv1_operator_condition_used::RULE,
    &olmv1_package_missing::RULE,
    &olmv1_webhook_deployment_unknown::RULE,
    &olmv1_webhook_name_invalid::RULE,
    &olmv1_webhook_port_missing::RULE,
    &olmv1_webhook_rule_forbidden::RULE,
];
