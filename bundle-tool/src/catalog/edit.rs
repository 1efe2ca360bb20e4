//! Changes YAML documents where they differ from what they should hold, and keeps all other bytes: comments, order, styles.
//!
//! Only what maintainers edit manually is considered: the keys of the document and the items of their lists, in block style.
//! Whoever writes the result parses it first and compares: a document that cannot be changed like this is rewritten.

use std::collections::HashMap;
use std::ops::Range;

use serde_json::{Map, Value as Json};

use crate::model::yaml::{Kind, Value, emit};

/// Returns the text of a document with the values of `new`, whose root is a map.
///
/// `text` is the document with all that belongs to it, `root` what was parsed from it. Returns nothing if the document is
/// not in block style.
#[must_use]
pub fn rewrite(text: &str, root: Value<'_>, new: &Map<String, Json>) -> Option<String> {
    let document = Document { lines: text.split_inclusive('\n').collect() };
    let blocks = document.keys(root)?;
    let mut out = document.text(0..blocks.first()?.lines.start);
    let mut known = Vec::new();
    for block in &blocks {
        let lead = document.lead(block.lines.clone());
        let Some(value) = new.get(block.key) else {
            // What stands before a key that is removed is about it.
            continue;
        };
        known.push(block.key);
        out.push_str(&document.text(block.lines.start..lead.end));
        let body = lead.end..block.lines.end;
        let old = block.value.to_json();
        if old == *value {
            push(&mut out, &document.text(body));
            continue;
        }
        match document.list(body.clone(), block.value, &old, value) {
            Some(changed) => push(&mut out, &changed),
            None => push(&mut out, &key_text(block.key, value)),
        }
    }
    for (key, value) in new.iter().filter(|(key, _)| !known.contains(&key.as_str())) {
        push(&mut out, &key_text(key, value));
    }
    Some(out)
}

/// Returns what to remove of a file together with the document in `range`: the separator before it, or the end of the line of a JSON
/// value.
#[must_use]
pub fn removal(file: &[u8], range: Range<usize>, is_json: bool) -> Range<usize> {
    let Range { mut start, mut end } = range;
    let before = &file[..start];
    let line = before[..before.len().saturating_sub(1)].iter().rposition(|byte| *byte == b'\n');
    let line = line.map_or(0, |newline| newline + 1);
    if is_json {
        end += usize::from(file.get(end) == Some(&b'\n'));
    } else if before[line..].starts_with(b"---") {
        start = line;
    }
    start..end
}

/// Appends lines; the last line before them may lack its end.
fn push(out: &mut String, lines: &str) {
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    out.push_str(lines);
}

fn key_text(key: &str, value: &Json) -> String {
    emit(&Json::Object([(key.to_owned(), value.clone())].into_iter().collect()))
}

struct Document<'t> {
    lines: Vec<&'t str>,
}

/// A key of the document with its value.
struct Block<'t> {
    key: &'t str,
    value: Value<'t>,
    /// From the comments before the key to the end of its value.
    lines: Range<usize>,
}

impl Document<'_> {
    fn text(&self, lines: Range<usize>) -> String {
        self.lines.get(lines).map(<[&str]>::concat).unwrap_or_default()
    }

    fn is_blank(&self, line: usize) -> bool {
        let text = self.lines.get(line).map_or("", |line| line.trim());
        text.is_empty() || text.starts_with('#')
    }

    /// The blank lines and comments that a range of lines begins with.
    fn lead(&self, lines: Range<usize>) -> Range<usize> {
        let end = lines.clone().find(|line| !self.is_blank(*line)).unwrap_or(lines.end);
        lines.start..end
    }

    /// Where the blank lines and comments before a line begin, but not before `floor`.
    fn before(&self, line: usize, floor: usize) -> usize {
        (floor..line).rev().take_while(|line| self.is_blank(*line)).last().unwrap_or(line)
    }

    fn keys<'v>(&self, root: Value<'v>) -> Option<Vec<Block<'v>>> {
        let mut found: Vec<(usize, &'v str, Value<'v>)> = Vec::new();
        for (key, value) in root.entries() {
            let position = key.position();
            let line = usize::try_from(position.line).ok()?.checked_sub(1)?;
            if position.column != 1 || found.last().is_some_and(|(last, ..)| *last >= line) {
                return None;
            }
            found.push((line, key.text(), value));
        }
        let mut blocks = Vec::with_capacity(found.len());
        for (index, &(line, key, value)) in found.iter().enumerate() {
            // What stands before the first key is about the document.
            let start = match index.checked_sub(1).and_then(|index| found.get(index)) {
                Some((previous, ..)) => self.before(line, previous + 1),
                None => line,
            };
            let end = match found.get(index + 1) {
                Some((next, ..)) => self.before(*next, line + 1),
                None => self.lines.len(),
            };
            blocks.push(Block { key, value, lines: start..end });
        }
        Some(blocks)
    }

    /// Returns the text of a key whose value is a list, with the items of the new list. `body` begins with the key's line.
    fn list(&self, body: Range<usize>, value: Value<'_>, old: &Json, new: &Json) -> Option<String> {
        let (old, new) = (old.as_array()?, new.as_array()?);
        if value.kind() != Kind::Array || old.is_empty() || new.is_empty() {
            return None;
        }
        let (items, indent) = self.items(&body, value)?;
        let by_text: HashMap<String, usize> =
            old.iter().enumerate().rev().map(|(index, item)| (item.to_string(), index)).collect();
        let by_name: HashMap<&str, usize> =
            old.iter().enumerate().rev().filter_map(|(index, item)| Some((name(item)?, index))).collect();
        let mut out = self.text(body.start..items.first()?.start);
        let mut next = 0;
        for item in new {
            let same = by_text.get(&item.to_string()).filter(|index| **index >= next);
            let renewed = same.or_else(|| by_name.get(name(item)?).filter(|index| **index >= next));
            if let Some(&index) = renewed {
                next = index + 1;
                let lines = items.get(index)?.clone();
                let lead = self.lead(lines.clone());
                out.push_str(&self.text(lead.clone()));
                if same.is_some() {
                    push(&mut out, &self.text(lead.end..lines.end));
                    continue;
                }
            }
            push(&mut out, &item_text(item, indent));
        }
        // Comments behind the last item.
        let end = items.last()?.end;
        push(&mut out, &self.text(end..body.end));
        Some(out)
    }

    /// The lines of each item, from the comments before it, and the column of its dash.
    fn items(&self, body: &Range<usize>, value: Value<'_>) -> Option<(Vec<Range<usize>>, usize)> {
        let mut starts = Vec::with_capacity(value.len());
        let mut indent = None;
        for item in value.items() {
            let position = item.position();
            let line = usize::try_from(position.line).ok()?.checked_sub(1)?;
            let column = usize::try_from(position.column).ok()?.checked_sub(1)?;
            let before: String = self.lines.get(line)?.chars().take(column).collect();
            let dash = before.find('-')?;
            let is_first = *indent.get_or_insert(dash) == dash && before.trim() == "-";
            if !is_first || line <= body.start || starts.last().is_some_and(|last| *last >= line) {
                return None;
            }
            starts.push(line);
        }
        let mut items = Vec::with_capacity(starts.len());
        for (index, &line) in starts.iter().enumerate() {
            let floor = index.checked_sub(1).map_or(body.start + 1, |index| starts[index] + 1);
            let end = match starts.get(index + 1) {
                Some(next) => self.before(*next, line + 1),
                None => self.before(body.end, line + 1),
            };
            items.push(self.before(line, floor)..end);
        }
        Some((items, indent?))
    }
}

/// What an item is known by.
fn name(item: &Json) -> Option<&str> {
    item["name"].as_str()
}

fn item_text(item: &Json, indent: usize) -> String {
    let text = emit(&Json::Array(vec![item.clone()]));
    let prefix = " ".repeat(indent);
    text.split_inclusive('\n')
        .map(|line| if line.trim().is_empty() { line.to_owned() } else { format!("{prefix}{line}") })
        .collect()
}
