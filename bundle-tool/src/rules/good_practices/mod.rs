//! The suite `good-practices`: recommendations of the Operator Framework.

mod channel_unconventional;
mod container_requests_missing;
mod crd_description_missing;
mod csv_name_unconventional;
mod deployment_none;
mod permission_to_create_crds;

use super::Rule;

/// The rules of this directory, sorted by id.
pub(super) static RULES: &[&Rule] = &[
    &channel_unconventional::RULE,
    &container_requests_missing::RULE,
    &crd_description_missing::RULE,
    &csv_name_unconventional::RULE,
    &deployment_none::RULE,
    &permission_to_create_crds::RULE,
];
