//! OLM's validation of a CSV together with the other objects of the bundle.

mod api_service_deployment_unknown;
mod conversion_crd_not_owned;
mod conversion_install_modes;
mod conversion_path_invalid;
mod conversion_review_versions;
mod crd_duplicate;
mod crd_not_owned;
mod crds;
mod deployment_account_unknown;
mod deployment_duplicate;
mod deployment_missing;
mod owned_crd_duplicate;
mod owned_crd_missing;
mod owned_crd_not_served;
mod owned_version_unserved;
mod permission_account_missing;
mod required_api_incomplete;
mod required_crd_name_invalid;
mod required_crd_owned;
mod service_account_in_both;
mod webhook_deployment_unknown;
mod webhook_name_duplicate;
mod webhook_port_conflict;
mod webhook_rule_forbidden;
mod webhook_service_name_invalid;

use super::Rule;
use crate::model::csv::StrategyDeployment;
use crate::report::suggest::did_you_mean;

/// Returns the message for the name of a Deployment that is not in the install strategy.
fn unknown_deployment(name: &str, deployments: &[StrategyDeployment]) -> String {
    if name.is_empty() {
        return "missing required field `deploymentName`".to_owned();
    }
    let names = deployments.iter().take(MAX_CANDIDATES).map(|deployment| deployment.name.as_str());
    format!("unknown Deployment `{name}`{}", did_you_mean(name, names))
}

/// Maximum number of names that a misspelled one is compared with.
const MAX_CANDIDATES: usize = 100;

/// The rules of this directory, sorted by id.
pub(super) static RULES: &[&Rule] = &[
    &api_service_deployment_unknown::RULE,
    &conversion_crd_not_owned::RULE,
    &conversion_install_modes::RULE,
    &conversion_path_invalid::RULE,
    &conversion_review_versions::RULE,
    &crd_duplicate::RULE,
    &crd_not_owned::RULE,
    &deployment_account_unknown::RULE,
    &deployment_duplicate::RULE,
    &deployment_missing::RULE,
    &owned_crd_duplicate::RULE,
    &owned_crd_missing::RULE,
    &owned_crd_not_served::RULE,
    &owned_version_unserved::RULE,
    &permission_account_missing::RULE,
    &required_api_incomplete::RULE,
    &required_crd_name_invalid::RULE,
    &required_crd_owned::RULE,
    &service_account_in_both::RULE,
    &webhook_deployment_unknown::RULE,
    &webhook_name_duplicate::RULE,
    &webhook_port_conflict::RULE,
    &webhook_rule_forbidden::RULE,
    &webhook_service_name_invalid::RULE,
];
