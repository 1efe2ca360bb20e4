//! Edits YAML and JSON in place: only the bytes of what changes are replaced, so that comments, quotes, order and line breaks
//! stay.
//!
//! [`rewrite`] changes a document so that it reads as a given value, [`apply`] applies single changes by path or position.
//! Both parse the result and compare: text that would read as anything else is never returned.
//!
//! ```
//! use kube_yaml::edit;
//!
//! let text = "# About lakes.\nname: lake # the name\nkeywords: [water]\n";
//! let wanted = serde_json::json!({"name": "pond", "keywords": ["water", "fish"]});
//! let new = edit::rewrite(text, &wanted)?;
//! assert_eq!(new, "# About lakes.\nname: pond # the name\nkeywords: [water, fish]\n");
//! # Ok::<(), edit::EditError>(())
//! ```

mod changes;
mod expected;
mod layout;
mod rewrite;
#[cfg(test)]
mod rewrite_tests;
mod tabs;

use std::ops::Range;

use serde_json::Value as Json;

use crate::{Position, SyntaxError, spans};

use changes::{Replacement, Targets};

pub use rewrite::rewrite;
pub use tabs::replace_tabs;

/// Maximum number of times that a text is parsed to find the edits that change only what they should, after all of them together gave
/// another result.
const MAX_TRIES: usize = 64;

/// A step from a document's root to a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathStep {
    /// The value of a key of a map.
    Key(String),
    /// An item of a list, from zero.
    Index(usize),
}

/// What an edit changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// The value at a path.
    Path(Vec<PathStep>),
    /// The entry whose key begins at a position, or the scalar that does.
    Position(Position),
}

/// A change of one value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Replaces a scalar by a string, in quotes where YAML requires them.
    SetString(String),
    /// Replaces a scalar by text without quotes, such as `true`.
    SetLiteral(String),
    /// Adds an entry with a string to a map.
    Insert(String, String),
    /// Renames the key of an entry.
    Rename(String),
    /// Removes an entry of a map, or an item of a list.
    Remove,
    /// Removes an entry of a map whose key a later entry has, too.
    RemoveDuplicate,
}

/// A change, and what it changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// What is changed.
    pub location: Location,
    /// How it is changed.
    pub change: Change,
}

/// Why a text cannot be edited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The text is not valid YAML.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// The text has no document, or several.
    #[error("expected one YAML document, found {0}")]
    Documents(usize),
    /// No edit was found that changes only what should change.
    #[error("the YAML document cannot be changed in place")]
    NotInPlace,
}

/// Changes the first document of a text by those of the edits that apply to it, and returns the new text and which edits were
/// applied, in order.
///
/// Edits that touch an earlier one, and those that would change anything else, are skipped: they may apply to the new text.
#[must_use]
pub fn apply(text: &str, edits: &[Edit]) -> (String, Vec<usize>) {
    let unchanged = || (text.to_owned(), Vec::new());
    let Some(root) = spans::spans(text.as_bytes()) else { return unchanged() };
    let Some(before) = value(text) else { return unchanged() };
    let mut targets = Targets::new(&root);
    let mut found: Vec<(usize, Replacement)> = Vec::new();
    for (index, edit) in edits.iter().enumerate() {
        let replacement = changes::replacement(text, &mut targets, edit);
        found.extend(replacement.map(|replacement| (index, replacement)));
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
    let mut tries = MAX_TRIES;
    let kept = compatible(found.iter().collect(), &mut |edits| {
        tries = tries.checked_sub(1)?;
        let edits: Vec<&Replacement> = edits.iter().map(|(_, edit)| edit).collect();
        Some(change_only_this(text, &before, &edits))
    });
    if kept.is_empty() {
        return unchanged();
    }
    let edits: Vec<&Replacement> = kept.iter().map(|(_, edit)| edit).collect();
    let mut applied: Vec<usize> = kept.iter().map(|(index, _)| *index).collect();
    applied.sort_unstable();
    (replaced(text, &edits), applied)
}

/// Returns edits that can be made together: all of them, or those of each half that can be.
///
/// `fit` tells whether edits can be made together; `None` if it cannot be asked again. Of some edits, all fit, but the two halves
/// together do something else, such as emptying a list in block style, which is null then.
fn compatible<E: Copy>(edits: Vec<E>, fit: &mut impl FnMut(&[E]) -> Option<bool>) -> Vec<E> {
    if edits.is_empty() || fit(&edits) == Some(true) {
        return edits;
    }
    if edits.len() == 1 {
        return Vec::new();
    }
    let (first, second) = edits.split_at(edits.len() / 2);
    let first = compatible(first.to_vec(), fit);
    let second = compatible(second.to_vec(), fit);
    // What was asked already is not asked again.
    if first.is_empty() || second.is_empty() {
        return if first.is_empty() { second } else { first };
    }
    let both = [first.as_slice(), &second].concat();
    let is_asked = both.len() == edits.len();
    if !is_asked && fit(&both) == Some(true) { both } else { first }
}

/// Returns what to remove of a file together with the document in `range`: the separator before it, or the end of the line of a
/// JSON value.
#[must_use]
pub fn document_removal(file: &[u8], range: Range<usize>, is_json: bool) -> Range<usize> {
    let Range { start, end } = range;
    // All values of a JSON file may be on one line, which is not searched for each of them.
    if is_json {
        return start..end + usize::from(file.get(end) == Some(&b'\n'));
    }
    let before = &file[..start];
    let line = before[..before.len().saturating_sub(1)].iter().rposition(|byte| *byte == b'\n');
    let line = line.map_or(0, |newline| newline + 1);
    if before[line..].starts_with(b"---") { line..end } else { start..end }
}

/// Returns a file with other bytes in some of its ranges, which are in order. What overlaps counts for the first.
#[must_use]
pub fn with_ranges<T: AsRef<[u8]>>(
    file: &[u8],
    replacements: impl IntoIterator<Item = (Range<usize>, T)>,
) -> Vec<u8> {
    let mut new = Vec::with_capacity(file.len());
    let mut copied = 0;
    for (range, bytes) in replacements {
        new.extend_from_slice(&file[copied..range.start.max(copied)]);
        new.extend_from_slice(bytes.as_ref());
        copied = range.end.max(copied);
    }
    new.extend_from_slice(&file[copied..]);
    new
}

/// Returns the value of a text's first document; `None` if the text is invalid.
fn value(text: &str) -> Option<Json> {
    let parsed = crate::parse(text.as_bytes());
    let root = parsed.documents.first().map(|tree| tree.root().to_json());
    root.filter(|_| parsed.error.is_none())
}

/// Returns whether edits, sorted by their places, turn a text with the value `before` into one with the value that they
/// should give it.
fn change_only_this(text: &str, before: &Json, edits: &[&Replacement]) -> bool {
    let Some(after) = value(&replaced(text, edits)) else { return false };
    let mut wanted = before.clone();
    expected::change(&mut wanted, edits) && wanted == after
}

/// Returns the text with edits that are sorted and do not overlap.
fn replaced(text: &str, edits: &[&Replacement]) -> String {
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
mod tests {
    use std::fmt::Write as _;

    use test_support::{LINEAR, growth};

    use super::*;

    fn remove(path: &[&str], index: Option<usize>) -> Edit {
        let keys = path.iter().map(|key| PathStep::Key((*key).to_owned()));
        let location = Location::Path(keys.chain(index.map(PathStep::Index)).collect());
        Edit { location, change: Change::Remove }
    }

    #[test]
    fn many_edits_take_time_in_proportion_to_their_number() {
        let items = |size: usize| {
            let text = "entries:\n".to_owned() + &"- name: a\n".repeat(2 * size);
            let edits = (0..size).map(|index| remove(&["entries"], Some(2 * index))).collect::<Vec<_>>();
            (text, edits)
        };
        let keys = |size: usize| {
            let mut text = String::new();
            for index in 0..2 * size {
                writeln!(text, "key{index}: a").unwrap();
            }
            let edits =
                (0..size).map(|index| remove(&[&format!("key{}", 2 * index)], None)).collect::<Vec<_>>();
            (text, edits)
        };
        for prepare in [&items as &dyn Fn(usize) -> (String, Vec<Edit>), &keys] {
            let (text, edits) = prepare(100);
            let (new, applied) = apply(&text, &edits);
            assert_eq!((applied.len(), new.lines().count()), (100, text.lines().count() - 100));
            let growth = growth(1_000, prepare, |(text, edits)| drop(apply(&text, &edits)));
            assert!(growth < LINEAR, "{growth}");
        }
    }

    #[test]
    fn failed_edit_does_not_block_other_edits() {
        // Removing all entries of a map in block style leaves null.
        let (mut text, mut edits) = (String::new(), Vec::new());
        for index in 0..200 {
            write!(text, "key{index}: a\nleft{index}: a\n").unwrap();
            edits.push(remove(&[&format!("key{index}")], None));
        }
        text.push_str("map:\n  a: 1\n\n  b: 2\n");
        edits.extend(["a", "b"].map(|key| remove(&["map", key], None)));
        let (_, applied) = apply(&text, &edits);
        assert!(applied.len() >= 200, "{}", applied.len());
    }

    #[test]
    fn edits_are_divided_until_they_fit() {
        let mut count = 0;
        let mut one_is_bad = |edits: &[u32]| {
            count += 1;
            Some(!edits.contains(&700))
        };
        let kept = compatible((0..1000).collect(), &mut one_is_bad);
        assert_eq!(kept.len(), 999);
        assert!(count < 64, "{count}");
        // All together do something else.
        let kept = compatible((0..1000).collect::<Vec<u32>>(), &mut |edits| Some(edits.len() < 1000));
        assert_eq!(kept.len(), 500);
        assert!(compatible((0..1000).collect::<Vec<u32>>(), &mut |_| None).is_empty());
    }
}
