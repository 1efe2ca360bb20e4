//! Code actions: the fixes of findings, and comments that ignore them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::position::{self, Encoding, Range};
use super::project::{CheckedFile, Found};
use super::protocol::{Client, CodeActionParams, TextEdit};
use olm_catalog::fix as catalog_fix;
use olm_catalog::fix::Document;
use olm_model::fix;
use olm_model::report::{Fix, Safety};

/// The kind of the fixes of one finding.
const QUICK_FIX: &str = "quickfix";
/// The kind of the fixes of all findings in a file that need no decision.
pub(crate) const FIX_ALL: &str = "source.fixAll.bundle-tool";
/// The kinds, as clients ask for them.
pub(crate) const KINDS: [&str; 2] = [QUICK_FIX, FIX_ALL];

/// The reason of a comment, for the author to replace.
const REASON: &str = "TODO: explain why";

/// The maximum number of findings in a range that fixes are offered for: the text is parsed for each.
const MAX_FINDINGS: usize = 20;

/// The document that actions are for.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) uri: String,
    pub(crate) version: Option<i64>,
}

/// Returns the code actions for a range of a file.
pub(crate) fn actions(
    file: &CheckedFile,
    target: &Target,
    params: &CodeActionParams,
    client: Client,
) -> Vec<Value> {
    let Some(text) = position::shown(&file.text) else { return Vec::new() };
    let is_wanted = |kind: &str| {
        let is_of = |wanted: &String| {
            wanted.is_empty()
                || kind
                    .strip_prefix(wanted.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        params.context.only.as_ref().is_none_or(|only| only.iter().any(is_of))
    };
    let mut actions = Vec::new();
    // The text is read once for all fixes of a catalog.
    let has_fix = |found: &Found| found.item.is_of_catalog && found.item.fix.is_some();
    let documents =
        if file.found.iter().any(has_fix) { catalog_fix::documents(&file.name, text) } else { None };
    let documents = documents.unwrap_or_default();
    if is_wanted(QUICK_FIX) {
        let in_range = file.found.iter().filter(|found| found.diagnostic.range.touches(params.range));
        let in_range: Vec<&Found> = in_range.take(MAX_FINDINGS).collect();
        for found in &in_range {
            let Some(fix) = found.item.fix.as_ref().filter(|fix| fix.file.is_none()) else { continue };
            let Some(edit) = fixed(&documents, text, &[found], client.encoding) else { continue };
            let edit = edit.behind(file.mark);
            let is_safe = fix.safety == Safety::Safe;
            let title =
                if is_safe { fix.title.clone() } else { format!("{} (unsafe: review it)", fix.title) };
            let mut action = quick_fix(&title, found, &[edit], target, client);
            action["isPreferred"] = json!(is_safe);
            actions.push(action);
        }
        actions.extend(comments(file, text, &in_range, target, client));
    }
    if is_wanted(FIX_ALL) {
        let is_safe = |found: &&Found| {
            found.item.fix.as_ref().is_some_and(|fix| fix.safety == Safety::Safe && fix.file.is_none())
        };
        let found: Vec<&Found> = file.found.iter().filter(is_safe).collect();
        if let Some(edit) = fixed(&documents, text, &found, client.encoding) {
            let edit = edit.behind(file.mark);
            actions.push(json!({
                "title": "apply all safe fixes in this file",
                "kind": FIX_ALL,
                "edit": workspace_edit(&[edit], target, client),
            }));
        }
    }
    actions
}

/// Returns the edit that applies the fixes of findings, or `None` if none of them can be applied.
///
/// `documents` are those of the file of a catalog.
fn fixed(documents: &[Document], text: &str, found: &[&Found], encoding: Encoding) -> Option<TextEdit> {
    let fixes: Vec<(u32, &Fix)> = found
        .iter()
        .filter_map(|found| Some((found.item.place.map_or(0, |(line, _)| line), found.item.fix.as_deref()?)))
        .collect();
    let new = if found.first()?.item.is_of_catalog {
        catalog_fix::apply(documents, text, &fixes)?
    } else {
        let fixes: Vec<&Fix> = fixes.into_iter().map(|(_, fix)| fix).collect();
        fix::apply(text, &fixes).0
    };
    difference(text, &new, encoding)
}

/// Returns the actions that ignore findings with a comment, one for each rule and line.
fn comments(file: &CheckedFile, text: &str, found: &[&Found], target: &Target, client: Client) -> Vec<Value> {
    let mut actions = Vec::new();
    let mut seen = BTreeSet::new();
    for found in found {
        let rule = found.item.rule;
        let Some((line, _)) = found.item.place.filter(|(line, _)| seen.insert((rule, *line))) else {
            continue;
        };
        let Some(comment) = olm_rules::comment(&file.name, text.as_bytes(), line, rule, REASON) else {
            continue;
        };
        let (before, behind) = text.split_at(comment.offset);
        if !is_same(text, &[before, &comment.text, behind].concat()) {
            continue;
        }
        let start = position::of_offset(text, comment.offset, client.encoding).behind(file.mark);
        let edit = TextEdit { range: Range { start, end: start }, new_text: comment.text };
        let title = format!("ignore `{rule}` here with a comment");
        actions.push(quick_fix(&title, found, &[edit], target, client));
    }
    actions
}

/// Returns whether two texts are valid and have the same values.
fn is_same(old: &str, new: &str) -> bool {
    let (old, new) = (kube_yaml::parse(old.as_bytes()), kube_yaml::parse(new.as_bytes()));
    let values = |parsed: &kube_yaml::Parsed| {
        parsed.documents.iter().map(|document| document.root().to_json()).collect::<Vec<_>>()
    };
    old.error.is_none() && new.error.is_none() && values(&old) == values(&new)
}

fn quick_fix(title: &str, found: &Found, edits: &[TextEdit], target: &Target, client: Client) -> Value {
    json!({
        "title": title,
        "kind": QUICK_FIX,
        "diagnostics": [found.diagnostic],
        "edit": workspace_edit(edits, target, client),
    })
}

fn workspace_edit(edits: &[TextEdit], target: &Target, client: Client) -> Value {
    let Target { uri, version } = target;
    if client.document_changes {
        json!({"documentChanges": [{"textDocument": {"uri": uri, "version": version}, "edits": edits}]})
    } else {
        json!({"changes": {uri: edits}})
    }
}

/// Returns the shortest replacement that makes one text the other, or `None` if they are equal.
fn difference(old: &str, new: &str, encoding: Encoding) -> Option<TextEdit> {
    if old == new {
        return None;
    }
    let mut start = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
    // Neither half a character nor half a line break is replaced.
    while !old.is_char_boundary(start) || !new.is_char_boundary(start) || old[..start].ends_with('\r') {
        start -= 1;
    }
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let mut length = old_rest.bytes().rev().zip(new_rest.bytes().rev()).take_while(|(a, b)| a == b).count();
    let is_whole = |text: &str, length: usize| {
        let at = text.len() - length;
        text.is_char_boundary(at) && !(text[at..].starts_with('\n') && text[..at].ends_with('\r'))
    };
    while !is_whole(old_rest, length) || !is_whole(new_rest, length) {
        length -= 1;
    }
    let end = old.len() - length;
    Some(TextEdit {
        range: Range {
            start: position::of_offset(old, start, encoding),
            end: position::of_offset(old, end, encoding),
        },
        new_text: new_rest[..new_rest.len() - length].to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Applies an edit as a client does.
    fn applied(text: &str, edit: &TextEdit, encoding: Encoding) -> String {
        let offset = |position| {
            let is_here = |at: &usize| {
                let is_half = text[..*at].ends_with('\r') && text[*at..].starts_with('\n');
                !is_half && position::of_offset(text, *at, encoding) == position
            };
            (0..=text.len()).filter(|at| text.is_char_boundary(*at)).find(is_here).unwrap()
        };
        let (start, end) = (offset(edit.range.start), offset(edit.range.end));
        [&text[..start], &edit.new_text, &text[end..]].concat()
    }

    proptest! {
        #[test]
        fn a_difference_makes_the_new_text(old in "[aä😀\n]{0,12}(\r\n[aö]){0,2}", new in "[aä😃\n]{0,12}(\r\n[aö]){0,2}") {
            for encoding in [Encoding::Utf8, Encoding::Utf16] {
                let changed = difference(&old, &new, encoding).map(|edit| applied(&old, &edit, encoding));
                prop_assert_eq!(changed.as_ref().unwrap_or(&old), &new);
            }
        }
    }

    #[test]
    fn a_difference_is_short() {
        let edit = difference("a: 😀x\nb: c\n", "a: 😀y\nb: c\n", Encoding::Utf16).unwrap();
        assert_eq!((edit.range.start.character, edit.range.end.character), (5, 6));
        assert_eq!(edit.new_text, "y");
    }
}
