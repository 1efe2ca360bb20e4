//! The suite `categories`: those that OperatorHub.io has.

mod category_unknown;

use super::Rule;

/// The rules of this folder, sorted by id.
pub(super) static RULES: &[&Rule] = &[&category_unknown::RULE];
