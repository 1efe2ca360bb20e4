//! The suite `operatorhubv2`: the requirements of OperatorHub.io for CSVs.

mod hub_icon_invalid;
mod hub_icon_missing;
mod hub_link_incomplete;
mod hub_maintainer_incomplete;
mod hub_provider_missing;
mod hub_removed_api;
mod hub_version_missing;

use super::Rule;

/// The rules of this directory, sorted by id.
pub(super) static RULES: &[&Rule] = &[
    &hub_icon_invalid::RULE,
    &hub_icon_missing::RULE,
    &hub_link_incomplete::RULE,
    &hub_maintainer_incomplete::RULE,
    &hub_provider_missing::RULE,
    &hub_removed_api::RULE,
    &hub_version_missing::RULE,
];
