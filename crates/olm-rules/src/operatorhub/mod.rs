//! The suite `operatorhubv2`: the requirements of OperatorHub.io for CSVs.

super::rule::rule_files! {
    hub_icon_invalid,
    hub_icon_missing,
    hub_link_incomplete,
    hub_maintainer_incomplete,
    hub_provider_missing,
    hub_removed_api,
    hub_version_missing,
}
