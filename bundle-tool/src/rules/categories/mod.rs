//! The suite `categories`: the categories of OperatorHub.io.

mod category_unknown;

use super::Rule;

/// The rules of this directory, sorted by id.
pub(super) static RULES: &[&Rule] = &[&category_unknown::RULE];
