//! The suite `olmv1`: what OLM v1's operator-controller rejects and OLM v0 accepts.

super::rule::rule_files! {
    olmv1_api_service_owned,
    olmv1_certificate_volume_replaced,
    olmv1_config_invalid,
    olmv1_conversion_crd_duplicate,
    olmv1_deployment_duplicate,
    olmv1_install_mode_missing,
    olmv1_metadata_type,
    olmv1_operator_condition_used,
    olmv1_package_missing,
    olmv1_permissions_widened,
    olmv1_phase_too_large,
    olmv1_properties_invalid,
    olmv1_selector_expressions,
    olmv1_webhook_deployment_unknown,
    olmv1_webhook_name_invalid,
    olmv1_webhook_port_missing,
    olmv1_webhook_rule_forbidden,
}
