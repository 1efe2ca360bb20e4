//! Replaces tabs in the indentation of a text that cannot be read otherwise.

use super::layout::lines;
use crate::spans;

/// Replaces the tabs that indent lines with spaces, as many that the text becomes valid. Those of block scalars that are part of
/// their text stay.
///
/// Returns `None` if it is not certain which tabs indent a text and which belong to it.
#[must_use]
pub fn replace_tabs(text: &str) -> Option<String> {
    const WIDTHS: [usize; 3] = [2, 4, 8];
    WIDTHS.into_iter().find_map(|width| {
        let spaced: String = lines(text).into_iter().map(|line| untabbed(line, width, usize::MAX)).collect();
        if spaced == text || crate::parse(spaced.as_bytes()).error.is_some() {
            return None;
        }
        let (old, new) = (lines(text), lines(&spaced));
        let mut changed: Vec<String> = new.iter().map(|&line| line.to_owned()).collect();
        for block in spans::block_scalars(spaced.as_bytes())? {
            let is_text = |&number: &usize| new.get(number).is_some_and(|line| !line.trim().is_empty());
            let Some(first) = (block.start + 1..block.end).find(is_text) else { continue };
            let has_tab = |line: &&str| line.trim_start_matches(' ').starts_with('\t');
            let header = *old.get(block.start)?;
            let is_uncertain = if has_explicit_indentation(header) {
                old[first..block.end.min(old.len())].iter().any(has_tab)
            } else {
                has_tab(&old[first]) && !is_indentation(header, old[first])
            };
            if is_uncertain {
                return None;
            }
            let indent = indentation(new[first]);
            for number in first..block.end.min(new.len()) {
                changed[number] = untabbed(old[number], width, indent);
            }
        }
        let changed = changed.concat();
        (changed != text && crate::parse(changed.as_bytes()).error.is_none()).then_some(changed)
    })
}

/// Returns a line whose first tabs are replaced with spaces, until it is indented by `indent`.
fn untabbed(line: &str, width: usize, indent: usize) -> String {
    let mut spaces = 0;
    let rest = line.trim_start_matches(|c| {
        let is_replaced = spaces < indent && matches!(c, ' ' | '\t');
        if is_replaced {
            spaces += if c == '\t' { width } else { 1 };
        }
        is_replaced
    });
    format!("{}{rest}", " ".repeat(spaces))
}

/// Returns how many spaces a line begins with.
fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Returns whether the header of a block scalar has an indentation indicator: its first line may be indented further then.
fn has_explicit_indentation(header: &str) -> bool {
    let header = header.split(" #").next().unwrap_or_default();
    header
        .rsplit(['|', '>'])
        .next()
        .is_some_and(|indicators| indicators.contains(|c: char| c.is_ascii_digit()))
}

/// Returns whether all tabs at the start of a block scalar's first line indent it: tabs after spaces, or more of them than one
/// level, may belong to the text.
fn is_indentation(header: &str, first: &str) -> bool {
    let tabs = |line: &str| line.len() - line.trim_start_matches('\t').len();
    let rest = &first[tabs(first)..];
    tabs(first) == tabs(header) + 1 && !rest.starts_with([' ', '\t'])
}
