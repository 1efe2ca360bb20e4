//! What OLM asks of a CSV and of the objects beside it, taken together.

mod owned_crd_missing;

use super::Rule;

/// The rules of this folder, sorted by id.
pub(super) static RULES: &[&Rule] = &[&owned_crd_missing::RULE];
