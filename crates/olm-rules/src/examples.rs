//! What fails each rule and what passes it, made from the rules' fixtures by a test (`tests/it/rules.rs`).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use olm_model::report::rules::Example;

/// The examples by rule. The file is generated: a test fails where it is not valid.
static EXAMPLES: LazyLock<BTreeMap<String, Example>> =
    LazyLock::new(|| serde_json::from_str(include_str!("examples.json")).unwrap_or_default());

/// Returns the example of a rule.
pub(crate) fn find(id: &str) -> Option<&'static Example> {
    EXAMPLES.get(id)
}
