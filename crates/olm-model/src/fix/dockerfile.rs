//! Edits the labels of a Dockerfile.

use crate::dockerfile::{Label, labels, written};
use crate::report::fix::{Change, Fix};

/// Sets labels in a Dockerfile, and returns the new text and which fixes were applied, in order; nothing if anything else would
/// change.
pub(crate) fn apply(text: &str, fixes: &[&Fix]) -> Option<(String, Vec<usize>)> {
    let before = labels(text);
    let mut edits = Vec::new();
    for (index, fix) in fixes.iter().enumerate() {
        let Change::SetLabel(key, value) = &fix.change else { continue };
        if let Some(at) = before.iter().rposition(|label| label.key == *key) {
            edits.push((at, value, index));
        }
    }
    edits.sort_unstable();
    edits.dedup_by_key(|(at, ..)| *at);
    let mut changed = text.to_owned();
    for (at, value, _) in edits.iter().rev() {
        changed.replace_range(before[*at].range.clone(), &written(value));
    }
    let pairs = |labels: &[Label]| -> Vec<_> {
        labels.iter().map(|label| (label.key.clone(), label.value.clone())).collect()
    };
    let mut expected = pairs(&before);
    for (at, value, _) in &edits {
        expected[*at].1 = Some((*value).clone());
    }
    let mut applied: Vec<usize> = edits.iter().map(|(.., index)| *index).collect();
    applied.sort_unstable();
    (pairs(&labels(&changed)) == expected).then_some((changed, applied))
}
