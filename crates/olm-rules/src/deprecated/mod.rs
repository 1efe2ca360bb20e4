//! The suite `deprecated-apis`: APIs that were removed from Kubernetes.

super::rule::rule_files! {
    removed_api,
    removed_api_openshift_unlimited,
    removed_api_possible,
}
