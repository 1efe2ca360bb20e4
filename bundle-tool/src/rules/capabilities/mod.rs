//! The suite `capabilities`: the capability levels of OperatorHub.io.

mod capability_unknown;

use super::Rule;

/// The rules of this directory, sorted by id.
pub(super) static RULES: &[&Rule] = &[&capability_unknown::RULE];
