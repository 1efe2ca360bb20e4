//! OLM's validation of a CSV together with the other objects of the bundle.

mod crds;

super::rule::rule_files! {
    api_service_deployment_unknown,
    conversion_configured_twice,
    conversion_crd_not_owned,
    conversion_install_modes,
    conversion_path_invalid,
    conversion_review_versions,
    conversion_webhook_missing,
    crd_duplicate,
    crd_not_owned,
    deployment_account_unknown,
    deployment_duplicate,
    deployment_missing,
    owned_crd_duplicate,
    owned_crd_missing,
    owned_crd_not_served,
    owned_version_unserved,
    permission_account_missing,
    required_api_incomplete,
    required_crd_name_invalid,
    required_crd_owned,
    service_account_in_both,
    webhook_deployment_unknown,
    webhook_name_duplicate,
    webhook_port_conflict,
    webhook_rule_forbidden,
    webhook_service_name_invalid,
}
