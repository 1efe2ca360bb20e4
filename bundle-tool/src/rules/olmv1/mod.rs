//! The suite `olmv1`: what OLM v1's operator-controller rejects and OLM v0 accepts.

super::rule::rule_files! {
    olmv1_api_service_owned,
    olmv1_conversion_crd_duplicate,
    olmv1_deployment_duplicate,
    olmv1_install_mode_missing,
    olmv1_metadata_type,
    olmv1_operator_condition_used,
    olmv1_package_missing,
    olmv1_webhook_deployment_unknown,
    olmv1_webhook_name_invalid,
    olmv1_webhook_port_missing,
    olmv1_webhook_rule_forbidden,
}
