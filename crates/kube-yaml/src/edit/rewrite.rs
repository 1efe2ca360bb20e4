//! Changes a document so that it reads as a given value, and keeps all that need not change.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};
use std::ops::Range;

use serde_json::{Map, Value as Json};

use super::EditError;
use super::changes::removal;
use super::layout::{self, Flow, is_break, line_break, line_content_end, line_end, line_start};
use crate::emit::{compare_keys, emit, sorted_by_key};
use crate::spans::{Content, Span, spans};
use crate::{Style, go_json};

/// Returns `text`, which is one YAML document or JSON value, changed so that it reads as `wanted`.
///
/// Values that are equal keep their bytes, with the comments about them. New keys are sorted in where the keys are sorted. Items
/// of lists are known by their `path`, or by `name`, `kind`, `version`, `type` and `url`. A comment directly above an entry or an
/// item is removed with it.
///
/// # Errors
/// The text is not one valid document, or no change of it reads as exactly `wanted`.
pub fn rewrite(text: &str, wanted: &Json) -> Result<String, EditError> {
    let mut parsed = crate::parse(text.as_bytes());
    if let Some(error) = parsed.error {
        return Err(error.into());
    }
    let tree = match (parsed.documents.len(), parsed.documents.pop()) {
        (1, Some(tree)) => tree,
        (count, _) => return Err(EditError::Documents(count)),
    };
    let old = tree.root().to_json();
    if old == *wanted {
        return Ok(text.to_owned());
    }
    let root = spans(text.as_bytes());
    for by_entry in [false, true] {
        let Some(root) = &root else { break };
        let mut rewriter = Rewriter { text, line_break: line_break(text), by_entry, edits: Vec::new() };
        if rewriter.root(root, &old, wanted)
            && let Some(new) = rewriter.apply(0..text.len(), 0)
            && is_document(&new, wanted)
        {
            return Ok(new);
        }
    }
    // JSON has no comments, and may have strings that a YAML parser rejects.
    if serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() {
        let new = go_json::pretty(wanted);
        if is_document(&new, wanted) {
            return Ok(new);
        }
    }
    Err(EditError::NotInPlace)
}

/// Returns whether a text is one document with a value.
fn is_document(text: &str, wanted: &Json) -> bool {
    let parsed = crate::parse(text.as_bytes());
    parsed.error.is_none()
        && matches!(parsed.documents.as_slice(), [tree] if tree.root().to_json() == *wanted)
}

struct Rewriter<'t> {
    text: &'t str,
    line_break: &'static str,
    /// Whether entries of the root are replaced as a whole, and those with aliases too: then no alias is left.
    by_entry: bool,
    /// Bytes and what replaces them. Edits of what is within an entry come before those beside it.
    edits: Vec<(Range<usize>, String)>,
}

/// An entry of a map in the source.
struct Entry<'s> {
    key: &'s Span,
    name: &'s str,
    value: &'s Span,
}

impl Entry<'_> {
    fn end(&self) -> usize {
        self.value.range.end.max(self.key.range.end)
    }
}

/// Returns the entries of a map; `None` if a key is not a scalar.
fn entries(spans: &[(Span, Span)]) -> Option<Vec<Entry<'_>>> {
    spans
        .iter()
        .map(|(key, value)| match &key.content {
            Content::Scalar(_, name, _) => Some(Entry { key, name, value }),
            _ => None,
        })
        .collect()
}

impl<'t> Rewriter<'t> {
    fn root(&mut self, root: &Span, old: &Json, wanted: &Json) -> bool {
        match (&root.content, old, wanted) {
            (Content::Mapping(false, spans), Json::Object(old), Json::Object(wanted)) => {
                self.block_mapping(spans, old, wanted)
            }
            _ if self.by_entry => false,
            (Content::Mapping(true, _) | Content::Sequence(..), ..) => self.within(root, old, wanted, 0),
            _ => false,
        }
    }

    /// Returns the text in a range, with the edits from number `from` on, which are within it; `None` if they overlap.
    fn apply(&self, range: Range<usize>, from: usize) -> Option<String> {
        let mut edits: Vec<&(Range<usize>, String)> = self.edits.get(from..)?.iter().collect();
        edits.sort_by_key(|(edit, _)| (edit.start, edit.end));
        let mut out = String::with_capacity(range.len());
        let mut at = range.start;
        for (edit, new) in edits {
            out.push_str(self.text.get(at..edit.start)?);
            out.push_str(new);
            at = edit.end;
        }
        out.push_str(self.text.get(at..range.end)?);
        Some(out)
    }

    /// Changes a value from within. Returns whether that was possible; otherwise, nothing was changed. `column` is the
    /// indentation of what holds a value in block style.
    fn within(&mut self, span: &Span, old: &Json, wanted: &Json, column: usize) -> bool {
        if old == wanted {
            return true;
        }
        let mark = self.edits.len();
        let done = match (&span.content, old, wanted) {
            (Content::Mapping(false, spans), Json::Object(old), Json::Object(wanted)) => {
                self.block_mapping(spans, old, wanted)
            }
            (Content::Sequence(false, items), Json::Array(old), Json::Array(wanted)) => {
                self.block_sequence(span, items, old, wanted)
            }
            (Content::Mapping(true, spans), Json::Object(old), Json::Object(wanted)) => {
                self.flow_mapping(span, spans, old, wanted)
            }
            (Content::Sequence(true, items), Json::Array(old), Json::Array(wanted)) => {
                self.flow_sequence(span, items, old, wanted)
            }
            (Content::Scalar(style, _, true), _, wanted) => self.scalar(span, *style, wanted, column),
            _ => false,
        };
        if !done {
            self.edits.truncate(mark);
        }
        done
    }

    /// Changes a scalar in block style that stays on its line.
    fn scalar(&mut self, span: &Span, style: Style, wanted: &Json, column: usize) -> bool {
        if matches!(style, Style::Literal | Style::Folded) {
            return false;
        }
        let new = match wanted {
            Json::String(new) if style == Style::Plain => {
                // A string of several lines, or one that is folded, is written as a new one is.
                let new = emit(&Json::String(new.clone()));
                match new.strip_suffix('\n') {
                    Some(line) if !line.contains(is_break) && line.len() + column < 80 => line.to_owned(),
                    _ => return false,
                }
            }
            Json::String(new) if new.contains('\n') => return false,
            Json::String(new) => layout::string(new, style, false),
            Json::Array(_) | Json::Object(_) => return false,
            other => other.to_string(),
        };
        self.edits.push((span.range.clone(), layout::spaced(self.text, span, new)));
        true
    }

    fn block_mapping(
        &mut self,
        spans: &[(Span, Span)],
        old: &Map<String, Json>,
        wanted: &Map<String, Json>,
    ) -> bool {
        let Some(entries) = entries(spans) else { return false };
        let Some(first) = entries.first() else { return false };
        if wanted.is_empty() {
            return false;
        }
        let column = first.key.position.column as usize - 1;
        let first_line = line_start(self.text, first.key.range.start);
        let in_item = !is_blank(&self.text[first_line..first.key.range.start]);
        let starts = |entry: &Entry<'_>| {
            let line = line_start(self.text, entry.key.range.start);
            entry.key.position.column as usize - 1 == column
                && is_blank(&self.text[line..entry.key.range.start])
        };
        if !entries[1..].iter().all(starts) {
            return false;
        }
        let last: HashMap<&str, usize> =
            entries.iter().enumerate().map(|(index, entry)| (entry.name, index)).collect();
        let is_merge = |entry: &Entry<'_>| entry.name == "<<" && !old.contains_key("<<");
        // What is merged into the map cannot be removed from it here.
        let is_own = |name: &String| last.contains_key(name.as_str());
        if old.keys().any(|name| !is_own(name) && !wanted.contains_key(name)) {
            return false;
        }
        let mut previous_end = 0;
        for (index, entry) in entries.iter().enumerate() {
            let floor = std::mem::replace(&mut previous_end, line_end(self.text, entry.end()));
            if is_merge(entry) {
                continue;
            }
            let Some(new) = wanted.get(entry.name) else {
                if index == 0 && in_item {
                    let Some(next) = entries.get(1) else { return false };
                    if !wanted.contains_key(next.name) {
                        return false;
                    }
                    self.edits.push((entry.key.range.start..next.key.range.start, String::new()));
                    continue;
                }
                let line = line_start(self.text, entry.key.range.start);
                let start = if index == 0 {
                    self.comments_of_first(line, column)
                } else {
                    self.comments_before(line, floor, column)
                };
                self.edits.push((start..previous_end, String::new()));
                continue;
            };
            // The last of equal keys counts.
            if last.get(entry.name) != Some(&index) {
                continue;
            }
            let Some(old) = old.get(entry.name) else { return false };
            if !self.block_entry(entry, old, new, column) {
                return false;
            }
        }
        let is_sorted = entries.windows(2).all(|pair| compare_keys(pair[0].name, pair[1].name).is_lt());
        let added: Vec<(&String, &Json)> =
            wanted.iter().filter(|(name, new)| !is_own(name) && old.get(*name) != Some(*new)).collect();
        let added = if is_sorted { sorted_by_key(added, &|(name, _)| name.as_str()) } else { added };
        for (name, new) in added {
            let before = if is_sorted {
                entries.partition_point(|entry| compare_keys(entry.name, name).is_lt())
            } else {
                entries.len()
            };
            let at = match before.checked_sub(1) {
                Some(index) => line_end(self.text, entries[index].end()),
                None if in_item => line_end(self.text, first.end()),
                // Comments before the root are about the document.
                None if column == 0 => first_line,
                None => self.comments_before(first_line, 0, column),
            };
            let map = Map::from_iter([(name.clone(), new.clone())]);
            self.insert_lines(at, &emit(&Json::Object(map)), column);
        }
        true
    }

    /// Changes the value of an entry in block style.
    fn block_entry(&mut self, entry: &Entry<'_>, old: &Json, wanted: &Json, column: usize) -> bool {
        let Entry { key, value, .. } = entry;
        if old == wanted && !(self.by_entry && has_alias(value)) {
            return true;
        }
        if !self.by_entry && self.within(value, old, wanted, column) {
            return true;
        }
        let after_key = &self.text[key.range.end..];
        let spaces = after_key.len() - after_key.trim_start_matches(' ').len();
        if !after_key[spaces..].starts_with(':') {
            return false;
        }
        let start = key.range.end + spaces + 1;
        let emitted = emit(&Json::Object(Map::from_iter([("k".to_owned(), wanted.clone())])));
        let Some(new) = emitted.strip_prefix("k:") else { return false };
        self.replace_block(start, value, new, column, wanted.is_array() || wanted.is_object());
        true
    }

    /// Replaces what is from `start` to the end of `value` by the lines of `new`, and keeps the comment on the line.
    fn replace_block(&mut self, start: usize, value: &Span, new: &str, column: usize, is_collection: bool) {
        let text = self.text;
        let value_text = &text[value.range.clone()];
        let mut end = start.max(value.range.start + value_text.trim_end().len());
        let comment = if let Content::Scalar(Style::Literal | Style::Folded, ..) = value.content {
            let header = &value_text[..line_content_end(value_text, 0)];
            if header.contains('+') {
                end = value.range.start + value_text.trim_end_matches(is_break).len();
                let rest = &text[end..value.range.end];
                end = value.range.end - rest.chars().next_back().map_or(0, char::len_utf8);
            }
            header.find(" #").map(|at| header[at..].trim())
        } else {
            let rest = text[end..line_content_end(text, end)].trim();
            Some(rest).filter(|rest| rest.starts_with('#'))
        };
        let new = new.strip_suffix('\n').unwrap_or(new);
        let (first, rest) = new.split_once('\n').map_or((new, None), |(first, rest)| (first, Some(rest)));
        let header = first.trim_start();
        let takes_comment = rest.is_some() && (is_collection || header.starts_with(['|', '>']));
        let mut out = first.to_owned();
        let is_behind = !matches!(value.content, Content::Scalar(Style::Literal | Style::Folded, ..));
        if let Some(comment) = comment
            && (takes_comment || !is_behind)
        {
            if is_behind {
                end = line_content_end(text, end);
            }
            if takes_comment || rest.is_none() {
                out.push(' ');
                out.push_str(comment);
            }
        }
        if let Some(rest) = rest {
            out.push_str(self.line_break);
            out.push_str(&self.indented(rest, column));
        }
        // The last line of a block scalar ends in a line break.
        if end == text.len() && rest.is_some() {
            out.push_str(self.line_break);
        }
        self.edits.push((start..end, out));
    }

    fn indented(&self, lines: &str, column: usize) -> String {
        let indent = " ".repeat(column);
        let lines = lines.split('\n');
        let lines: Vec<String> = lines
            .map(|line| if line.is_empty() { String::new() } else { format!("{indent}{line}") })
            .collect();
        lines.join(self.line_break)
    }

    /// Inserts lines at the beginning of a line, or at the end of the text.
    fn insert_lines(&mut self, at: usize, lines: &str, column: usize) {
        let lines = self.indented(lines.strip_suffix('\n').unwrap_or(lines), column);
        let is_open = at > 0 && !self.text[..at].ends_with(is_break);
        let new = if is_open {
            format!("{}{lines}", self.line_break)
        } else {
            format!("{lines}{}", self.line_break)
        };
        self.edits.push((at..at, new));
    }

    /// Returns where the comments begin that are directly above the line at `line`, not before `floor`.
    fn comments_before(&self, line: usize, floor: usize, column: usize) -> usize {
        let mut start = line;
        while start > floor {
            let end = self.text[..start].trim_end_matches(is_break).len();
            let above = line_start(self.text, end);
            let text = &self.text[above..end];
            let is_above = line_end(self.text, end.max(1)) == start && above >= floor;
            if !is_above || !text.trim_start().starts_with('#') || indentation(text) != column {
                break;
            }
            start = above;
        }
        start
    }

    /// Returns where the comments begin that are directly above the first entry or item of a collection. Comments at the beginning
    /// of the document are about the document.
    fn comments_of_first(&self, line: usize, column: usize) -> usize {
        let start = self.comments_before(line, 0, column);
        if matches!(self.text[..start].trim(), "" | "---") { line } else { start }
    }

    fn block_sequence(&mut self, span: &Span, items: &[Span], old: &[Json], wanted: &[Json]) -> bool {
        let (Some(first), false) = (items.first(), wanted.is_empty()) else { return false };
        if items.len() != old.len() || !self.text[span.range.start..].starts_with('-') {
            return false;
        }
        let dash = span.position.column as usize - 1;
        let starts: Vec<usize> = items.iter().map(|item| line_start(self.text, item.range.start)).collect();
        let begins = |(item, &line): (&Span, &usize)| {
            let before = &self.text[line..item.range.start];
            before.trim() == "-" && indentation(before) == dash
        };
        if !items.iter().zip(&starts).all(begins) {
            return false;
        }
        let index = Index::new(wanted);
        let mut next = 0;
        let mut previous_end = line_start(self.text, first.range.start);
        for (number, ((item, &line), old)) in items.iter().zip(&starts).zip(old).enumerate() {
            let floor = previous_end;
            let end = line_end(self.text, item.range.end);
            previous_end = end;
            let lead = if number == 0 {
                self.comments_of_first(line, dash)
            } else {
                self.comments_before(line, floor, dash)
            };
            let Some(found) = index.find(old, next) else {
                self.edits.push((lead..end, String::new()));
                continue;
            };
            let above = self.comments_before(line, if number == 0 { 0 } else { floor }, dash);
            for new in &wanted[next..found] {
                self.insert_lines(above, &emit(&Json::Array(vec![new.clone()])), dash);
            }
            next = found + 1;
            let new = &wanted[found];
            let column = item.position.column as usize - 1;
            if !self.within(item, old, new, column) {
                let emitted = emit(&Json::Array(vec![new.clone()]));
                let Some(new_text) = emitted.strip_prefix('-') else { return false };
                let start = self.text[..item.range.start].rfind('-').map_or(item.range.start, |at| at + 1);
                self.replace_block(start, item, new_text, dash, new.is_array() || new.is_object());
            }
        }
        for new in &wanted[next..] {
            self.insert_lines(previous_end, &emit(&Json::Array(vec![new.clone()])), dash);
        }
        true
    }

    /// Returns how a collection in flow style is written.
    fn flow(&self, span: &Span, first: Option<&Span>) -> Flow<'t> {
        let text = self.text;
        let is_json = match first {
            Some(first) => {
                text[first.range.clone()].starts_with(['"', '{', '['])
                    || is_number(&text[first.range.clone()])
            }
            None => false,
        } && !text[span.range.clone()].contains('\'');
        let lines = first.and_then(|first| {
            let gap = &text[span.range.start..first.range.start];
            let indent = &gap[gap
                .char_indices()
                .rfind(|(_, char)| is_break(*char))
                .map(|(at, char)| at + char.len_utf8())?..];
            if !indent.trim_matches([' ', '\t']).is_empty() {
                return None;
            }
            let holder = line_start(text, span.range.start);
            let holder = &text[holder..holder + indentation(&text[holder..])];
            let unit = indent.strip_prefix(holder).filter(|unit| !unit.is_empty()).unwrap_or("  ");
            Some((self.line_break, indent, unit))
        });
        Flow { is_json, lines }
    }

    /// Changes a value within a collection in flow style.
    fn flow_value(&mut self, value: &Span, old: &Json, wanted: &Json, flow: Flow<'_>) {
        if old == wanted {
            return;
        }
        let is_scalar = matches!(value.content, Content::Scalar(..));
        if is_scalar || !self.within(value, old, wanted, 0) {
            let new = match (&value.content, wanted) {
                (Content::Scalar(style, _, true), Json::String(new)) => layout::string(new, *style, true),
                _ => flow.value(wanted),
            };
            self.edits.push((value.range.clone(), layout::spaced(self.text, value, new)));
        }
    }

    fn flow_mapping(
        &mut self,
        span: &Span,
        spans: &[(Span, Span)],
        old: &Map<String, Json>,
        wanted: &Map<String, Json>,
    ) -> bool {
        let Some(entries) = entries(spans) else { return false };
        let names: HashSet<&str> = entries.iter().map(|entry| entry.name).collect();
        let is_strange = names.len() < entries.len() || old.keys().any(|name| !names.contains(name.as_str()));
        if is_strange || entries.is_empty() || !self.text[span.range.start..].starts_with('{') {
            return false;
        }
        let flow = self.flow(span, entries.first().map(|entry| entry.key));
        let mark = self.edits.len();
        let mut pieces = Vec::with_capacity(entries.len());
        for entry in &entries {
            let (Some(old), Some(new)) = (old.get(entry.name), wanted.get(entry.name)) else { continue };
            let from = self.edits.len();
            self.flow_value(entry.value, old, new, flow);
            let Some(piece) = self.apply(entry.key.range.start..entry.end(), from) else { return false };
            pieces.push(piece);
        }
        let removed: Vec<usize> =
            (0..entries.len()).filter(|&index| !wanted.contains_key(entries[index].name)).collect();
        let added: Vec<String> = wanted
            .iter()
            .filter(|(name, _)| !names.contains(name.as_str()))
            .map(|(name, new)| flow.entry(name, new))
            .collect();
        match (removed.as_slice(), added.is_empty()) {
            ([], true) => true,
            ([], false) => {
                let end = entries.last().map_or(span.range.end, Entry::end);
                let added = added.into_iter().map(|entry| format!("{}{entry}", separator(flow)));
                self.edits.push((end..end, added.collect()));
                true
            }
            ([index], true) if entries.len() > 1 => match removal(self.text, span, *index) {
                Some(range) => {
                    self.edits.push((range, String::new()));
                    true
                }
                None => false,
            },
            _ => {
                pieces.extend(added);
                self.edits.truncate(mark);
                self.flow_collection(span, &pieces, flow);
                true
            }
        }
    }

    fn flow_sequence(&mut self, span: &Span, items: &[Span], old: &[Json], wanted: &[Json]) -> bool {
        if items.is_empty() || items.len() != old.len() || !self.text[span.range.start..].starts_with('[') {
            return false;
        }
        let flow = self.flow(span, items.first());
        let mark = self.edits.len();
        let index = Index::new(wanted);
        let mut pieces = Vec::with_capacity(wanted.len());
        let mut next = 0;
        let mut is_same = items.len() == wanted.len();
        for (number, (item, old)) in items.iter().zip(old).enumerate() {
            let Some(found) = index.find(old, next) else {
                is_same = false;
                continue;
            };
            is_same &= found == number;
            pieces.extend(wanted[next..found].iter().map(|new| flow.value(new)));
            next = found + 1;
            let from = self.edits.len();
            self.flow_value(item, old, &wanted[found], flow);
            let Some(piece) = self.apply(item.range.clone(), from) else { return false };
            pieces.push(piece);
        }
        if !is_same {
            pieces.extend(wanted[next..].iter().map(|new| flow.value(new)));
            self.edits.truncate(mark);
            self.flow_collection(span, &pieces, flow);
        }
        true
    }

    /// Replaces what is between the brackets of a collection.
    fn flow_collection(&mut self, span: &Span, pieces: &[String], flow: Flow<'_>) {
        let inner = span.range.start + 1..span.range.end - 1;
        let new = match flow.lines {
            _ if pieces.is_empty() => String::new(),
            None => pieces.join(", "),
            Some((line_break, indent, _)) => {
                let text = &self.text[inner.clone()];
                let closing = &text[text.trim_end().len()..];
                let separator = format!(",{line_break}{indent}");
                format!("{line_break}{indent}{}{closing}", pieces.join(&separator))
            }
        };
        self.edits.push((inner, new));
    }
}

/// Returns what precedes an entry that is added to a collection in flow style.
fn separator(flow: Flow<'_>) -> String {
    match flow.lines {
        Some((line_break, indent, _)) => format!(",{line_break}{indent}"),
        None => ", ".to_owned(),
    }
}

fn is_blank(text: &str) -> bool {
    text.chars().all(|char| char == ' ')
}

fn is_number(text: &str) -> bool {
    text.parse::<f64>().is_ok() || matches!(text, "true" | "false" | "null")
}

/// Returns how many spaces a line begins with.
fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Returns whether a value contains a reference to another.
fn has_alias(span: &Span) -> bool {
    let mut pending = vec![span];
    while let Some(span) = pending.pop() {
        match &span.content {
            Content::Alias => return true,
            Content::Scalar(..) => {}
            Content::Sequence(_, items) => pending.extend(items),
            Content::Mapping(_, entries) => {
                pending.extend(entries.iter().flat_map(|(key, value)| [key, value]));
            }
        }
    }
    false
}

/// Finds the items of a list that are the same thing as another item, however they are described.
struct Index<'j> {
    items: &'j [Json],
    hasher: RandomState,
    /// The hash of an item, and that of what identifies it, to the positions of such items, in order.
    positions: HashMap<u64, Vec<usize>>,
}

impl<'j> Index<'j> {
    fn new(items: &'j [Json]) -> Self {
        let mut index = Self { items, hasher: RandomState::new(), positions: HashMap::new() };
        for (at, item) in items.iter().enumerate() {
            for hash in index.hashes(item) {
                index.positions.entry(hash).or_default().push(at);
            }
        }
        index
    }

    fn hashes(&self, item: &Json) -> impl Iterator<Item = u64> + use<> {
        let whole = self.hasher.hash_one(item);
        let identity = identity(item).map(|identity| self.hasher.hash_one((identity, "identity")));
        std::iter::once(whole).chain(identity)
    }

    /// Returns the position of the first item, from position `next` on, that is the same thing as `item`.
    fn find(&self, item: &Json, next: usize) -> Option<usize> {
        let first = |hash| {
            let positions = self.positions.get(&hash)?;
            let from = positions.partition_point(|&at| at < next);
            positions[from..].iter().find(|&&at| is_same(item, &self.items[at])).copied()
        };
        self.hashes(item).filter_map(first).min()
    }
}

/// Returns the key of an item in its list: its path, or its name with its related fields.
fn identity(item: &Json) -> Option<[Option<&Json>; 5]> {
    if let Some(path) = item.get("path") {
        return Some([Some(path), None, None, None, None]);
    }
    let fields = ["name", "kind", "version", "type", "url"].map(|key| item.get(key));
    fields.iter().any(Option::is_some).then_some(fields)
}

/// Returns whether two items of a list are the same thing.
fn is_same(a: &Json, b: &Json) -> bool {
    a == b || identity(a).is_some_and(|identity_of_a| Some(identity_of_a) == identity(b))
}
