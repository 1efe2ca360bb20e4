//! Fixes findings in the source of their files: each [`Fix`] becomes an edit of the text, so that comments and layout
//! stay, and what it changes is compared with what it should change.
//!
//! Reads no files and writes none: the command `fix` does.

mod dockerfile;

use crate::report::fix::{Change, Fix};
use kube_yaml::edit;
use kube_yaml::edit::Edit;

/// Changes a text by those of the fixes that apply to it, and returns the new text and which fixes were applied, in order.
///
/// Fixes that touch an earlier one, and those that would change anything else, are skipped: they may apply to the new text.
#[must_use]
pub fn apply(text: &str, fixes: &[&Fix]) -> (String, Vec<usize>) {
    let unchanged = || (text.to_owned(), Vec::new());
    if let Some(index) = fixes.iter().position(|fix| fix.change == Change::ReplaceTabs) {
        return edit::replace_tabs(text).map_or_else(unchanged, |text| (text, vec![index]));
    }
    if !fixes.is_empty() && fixes.iter().all(|fix| matches!(fix.change, Change::SetLabel(..))) {
        return dockerfile::apply(text, fixes).unwrap_or_else(unchanged);
    }
    let edits = fixes.iter().enumerate().filter_map(|(index, fix)| Some((index, edit(fix)?)));
    let (indices, edits): (Vec<usize>, Vec<Edit>) = edits.unzip();
    let (text, applied) = edit::apply(text, &edits);
    (text, applied.into_iter().map(|index| indices[index]).collect())
}

/// Returns the edit of a YAML document that a fix stands for; `None` if it is a fix of something else.
fn edit(fix: &Fix) -> Option<Edit> {
    let change = match fix.change.clone() {
        Change::SetString(text) => edit::Change::SetString(text),
        Change::SetLiteral(text) => edit::Change::SetLiteral(text),
        Change::Insert(key, text) => edit::Change::Insert(key, text),
        Change::Rename(name) => edit::Change::Rename(name),
        Change::Remove => edit::Change::Remove,
        Change::RemoveDuplicate => edit::Change::RemoveDuplicate,
        Change::SetLabel(..) | Change::ObjectsToMetadata | Change::ReplaceTabs => return None,
    };
    Some(Edit { location: fix.place.clone(), change })
}

#[cfg(test)]
mod tests;
