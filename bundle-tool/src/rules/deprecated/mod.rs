//! The suite `deprecated-apis`: APIs that were removed from Kubernetes.

pub(in crate::rules) mod removed;
mod removed_api;
mod removed_api_possible;

use super::Rule;

/// The rules of this directory, sorted by id.
pub(super) static RULES: &[&Rule] = &[&removed_api::RULE, &removed_api_possible::RULE];
