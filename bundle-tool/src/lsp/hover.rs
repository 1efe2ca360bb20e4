//! The documentation of the rules whose findings are at a position.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::position::{Position, Range};
use super::project::CheckedFile;
use super::protocol::Client;
use crate::catalog::validate::RULES;
use crate::{report, rules};

/// Returns what is shown at a position; null if nothing is.
pub(super) fn hover(file: &CheckedFile, position: Position, client: Client) -> Value {
    let here = Range { start: position, end: position };
    let mut seen = BTreeSet::new();
    let mut found = file.found.iter().filter(|found| found.diagnostic.range.touches(here)).peekable();
    let Some(range) = found.peek().map(|found| found.diagnostic.range) else { return Value::Null };
    let pages: Vec<_> =
        found.map(|found| found.item.rule).filter(|rule| seen.insert(*rule)).map(page).collect();
    let kind = if client.markdown { "markdown" } else { "plaintext" };
    json!({"contents": {"kind": kind, "value": pages.join("\n---\n\n")}, "range": range})
}

/// Returns the page of a rule for bundles or catalogs, as Markdown.
fn page(id: &'static str) -> String {
    if let Some(rule) = rules::find(id) {
        return report::rules::page(&rule.text());
    }
    let rule = RULES.iter().find(|rule| rule.id == id);
    rule.map_or_else(|| format!("# {id}\n"), |rule| rule.page())
}
