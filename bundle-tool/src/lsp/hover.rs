//! The documentation of the rules whose findings are at a position.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::position::{Position, Range};
use super::project::CheckedFile;
use super::protocol::Client;
use olm_model::report;

/// Returns what is shown at a position; null if nothing is.
pub(crate) fn hover(file: &CheckedFile, position: Position, client: Client) -> Value {
    let here = Range { start: position, end: position };
    let mut seen = BTreeSet::new();
    let mut found = file.found.iter().filter(|found| found.diagnostic.range.touches(here)).peekable();
    let Some(range) = found.peek().map(|found| found.diagnostic.range) else { return Value::Null };
    let pages: Vec<_> =
        found.map(|found| found.item.rule).filter(|rule| seen.insert(*rule)).map(page).collect();
    let kind = if client.markdown { "markdown" } else { "plaintext" };
    json!({"contents": {"kind": kind, "value": pages.join("\n---\n\n")}, "range": range})
}

/// Returns the page of a rule, as Markdown.
fn page(id: &'static str) -> String {
    olm_rules::find(id).map_or_else(|| format!("# {id}\n"), |rule| report::rules::page(&rule.documentation()))
}
