//! Fixes findings in the source of their files: each [`Fix`] becomes replacements of bytes, so that comments and layout
//! stay, and what it changes is compared with what it should change.
//!
//! Reads no files and writes none: the command `fix` does.

mod dockerfile;
mod edit;
mod json;

use serde_json::Value as Json;

use crate::read::{spans, yaml};
use crate::report::fix::{Change, Fix};

use edit::Edit;

/// Maximum number of edits of a text that are tried one by one, after all of them together gave another result.
const MAX_SINGLE_EDITS: usize = 32;

/// Changes a text by those of the fixes that apply to it, and returns the new text and which fixes were applied, in order.
///
/// Fixes that touch an earlier one, and those that would change anything else, are skipped: they may apply to the new text.
#[must_use]
pub fn apply(text: &str, fixes: &[&Fix]) -> (String, Vec<usize>) {
    let unchanged = || (text.to_owned(), Vec::new());
    if let Some(index) = fixes.iter().position(|fix| fix.change == Change::Untab) {
        return edit::untab(text).map_or_else(unchanged, |text| (text, vec![index]));
    }
    if !fixes.is_empty() && fixes.iter().all(|fix| matches!(fix.change, Change::SetLabel(..))) {
        return dockerfile::apply(text, fixes).unwrap_or_else(unchanged);
    }
    let Some(root) = spans::spans(text.as_bytes()) else { return unchanged() };
    let Some(before) = value(text) else { return unchanged() };
    let mut found: Vec<(usize, Edit)> = Vec::new();
    for (index, fix) in fixes.iter().enumerate() {
        found.extend(edit::edit(text, &root, fix).map(|edit| (index, edit)));
    }
    found.sort_by_key(|(index, edit)| (edit.range.start, *index));
    let mut end = None;
    found.retain(|(_, edit)| {
        let is_apart = end.is_none_or(|end| edit.range.start > end);
        if is_apart {
            end = Some(edit.range.end);
        }
        is_apart
    });
    let all: Vec<&Edit> = found.iter().map(|(_, edit)| edit).collect();
    if !all.is_empty() && !change_only_this(text, &before, &all) {
        let mut tried = 0;
        found.retain(|(_, edit)| {
            tried += 1;
            tried <= MAX_SINGLE_EDITS && change_only_this(text, &before, &[edit])
        });
        let left: Vec<&Edit> = found.iter().map(|(_, edit)| edit).collect();
        if !change_only_this(text, &before, &left) {
            // Together they do something else, such as emptying a list in block style, which is null then.
            found.truncate(1);
        }
    }
    let edits: Vec<&Edit> = found.iter().map(|(_, edit)| edit).collect();
    if edits.is_empty() {
        return unchanged();
    }
    let mut applied: Vec<usize> = found.iter().map(|(index, _)| *index).collect();
    applied.sort_unstable();
    (replaced(text, &edits), applied)
}

/// Returns the value of a text's first document; nothing if the text is invalid.
fn value(text: &str) -> Option<Json> {
    let parsed = yaml::parse(text.as_bytes());
    let root = parsed.documents.first().map(|tree| tree.root().to_json());
    root.filter(|_| parsed.error.is_none())
}

/// Returns whether edits, sorted by their places, turn a text with the value `before` into one with the value that they
/// should give it.
fn change_only_this(text: &str, before: &Json, edits: &[&Edit]) -> bool {
    let Some(after) = value(&replaced(text, edits)) else { return false };
    let mut expected = before.clone();
    // From the end, so that the indices of earlier items stay as they are.
    edits.iter().rev().all(|edit| json::change(&mut expected, edit)) && expected == after
}

/// Returns the text with edits that are sorted and do not overlap.
fn replaced(text: &str, edits: &[&Edit]) -> String {
    let mut changed = String::with_capacity(text.len());
    let mut from = 0;
    for edit in edits {
        changed.push_str(&text[from..edit.range.start]);
        changed.push_str(&edit.text);
        from = edit.range.end;
    }
    changed.push_str(&text[from..]);
    changed
}

#[cfg(test)]
mod tests;
