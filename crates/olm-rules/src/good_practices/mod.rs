//! The suite `good-practices`: recommendations of the Operator Framework.

super::rule::rule_files! {
    channel_unconventional,
    container_requests_missing,
    crd_description_missing,
    csv_name_unconventional,
    deployment_none,
    permission_to_create_crds,
}
