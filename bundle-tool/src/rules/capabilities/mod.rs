//! The suite `capabilities`: the levels that OperatorHub.io knows.

mod capability_unknown;

use super::Rule;

/// The rules of this folder, sorted by id.
pub(super) static RULES: &[&Rule] = &[&capability_unknown::RULE];
