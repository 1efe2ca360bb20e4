//! Changes a YAML file in place: lines that need no change, and comments, are preserved.
//!
//! Supports block style with one key on each line. Other entries are rewritten as a whole; the caller parses the result and
//! compares it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};

use serde_json::{Map, Value as Json};

use crate::model::yaml::{Kind, Value, compare_keys, emit, sorted_by_key};

/// Returns `text`, whose only document is `root`, changed to contain `wanted`.
#[must_use]
pub fn patch(text: &str, root: Value<'_>, wanted: &Json) -> String {
    let mut patch = Patch { lines: text.lines().collect(), edits: BTreeMap::new() };
    let done = match wanted {
        Json::Object(map) if patch.is_block(root) => patch.mapping(root, map, false),
        _ => false,
    };
    if done { patch.apply() } else { emit(wanted) }
}

struct Patch<'t> {
    lines: Vec<&'t str>,
    /// The first line and the line after the last, to the lines that replace them.
    edits: BTreeMap<(usize, usize), Vec<String>>,
}

impl Patch<'_> {
    /// Changes the entries of a map. Returns whether that was possible. `in_item` if the first key follows a dash.
    fn mapping(&mut self, old: Value<'_>, wanted: &Map<String, Json>, in_item: bool) -> bool {
        let entries: Vec<(Value<'_>, Value<'_>)> = old.entries().collect();
        let Some((first, _)) = entries.first() else { return false };
        let (line, column) = place(*first);
        let mut seen = Vec::new();
        for (index, (key, value)) in entries.iter().enumerate() {
            let (start, at) = place(*key);
            if at != column || (index > 0 && !self.begins(start, column)) {
                return false;
            }
            let end = self.entry_end(start, column, value.kind() == Kind::Array);
            seen.push((key.text(), start, end));
            let Some(new) = wanted.get(key.text()) else {
                if in_item && index == 0 {
                    return false;
                }
                self.edits.insert((start, end), Vec::new());
                continue;
            };
            if value.to_json() == *new {
                continue;
            }
            let changed = match new {
                Json::Object(map) if self.is_block(*value) => self.mapping(*value, map, false),
                Json::Array(items) if self.is_block(*value) => self.sequence(*value, items),
                _ => false,
            };
            if !changed {
                self.discard(start, end);
                let mut lines = entry(key.text(), new, column);
                if let Some(first_line) = lines.first_mut() {
                    let kept: String = self.lines[start].chars().take(column).collect();
                    *first_line = format!("{kept}{}", first_line.trim_start());
                }
                self.edits.insert((start, end), lines);
            }
        }
        let names: HashSet<&str> = seen.iter().map(|(name, ..)| *name).collect();
        // The keys in their order, each with the last line of it and of those before it.
        let ends: Vec<(&str, usize)> = seen.iter().map(|&(name, _, end)| (name, end)).collect();
        let mut ends = sorted_by_key(ends, &|(name, _)| *name);
        for index in 1..ends.len() {
            ends[index].1 = ends[index].1.max(ends[index - 1].1);
        }
        for (key, value) in wanted {
            if names.contains(key.as_str()) {
                continue;
            }
            let smaller = ends.partition_point(|(name, _)| compare_keys(name, key).is_lt());
            let before = smaller.checked_sub(1).map(|index| ends[index].1);
            let at = match before {
                Some(end) => end,
                None if in_item => seen.first().map_or(line + 1, |(.., end)| *end),
                None => line,
            };
            self.edits.entry((at, at)).or_default().extend(entry(key, value, column));
        }
        true
    }

    /// Changes the items of a list. Returns whether that was possible.
    fn sequence(&mut self, old: Value<'_>, wanted: &[Json]) -> bool {
        let (_, dash) = place(old);
        let items: Vec<Value<'_>> = old.items().collect();
        let starts: Vec<usize> = items.iter().map(|item| place(*item).0).collect();
        let index = Index::new(wanted);
        let mut next = 0;
        let mut end = starts.first().copied().unwrap_or_default();
        for (item, &start) in items.iter().zip(&starts) {
            if !self.lines[start].get(dash..).is_some_and(|rest| rest.starts_with('-')) {
                return false;
            }
            let json = item.to_json();
            let Some(found) = index.find(&json, next) else {
                self.edits.insert((start, self.item_end(start, dash)), Vec::new());
                continue;
            };
            for new in &wanted[next..found] {
                self.edits
                    .entry((start, start))
                    .or_default()
                    .extend(indented(&Json::Array(vec![new.clone()]), dash));
            }
            next = found + 1;
            end = self.item_end(start, dash);
            if json == wanted[found] {
                continue;
            }
            let changed = match &wanted[found] {
                Json::Object(map) if self.is_block(*item) => self.mapping(*item, map, true),
                _ => false,
            };
            if !changed {
                self.discard(start, end);
                self.edits.insert((start, end), indented(&Json::Array(vec![wanted[found].clone()]), dash));
            }
        }
        for new in &wanted[next..] {
            self.edits.entry((end, end)).or_default().extend(indented(&Json::Array(vec![new.clone()]), dash));
        }
        // An empty list is written in flow style.
        !wanted.is_empty()
    }

    /// Discards the edits that begin within some lines.
    fn discard(&mut self, start: usize, end: usize) {
        let within: Vec<_> = self.edits.range((start, 0)..(end, 0)).map(|(lines, _)| *lines).collect();
        for lines in within {
            self.edits.remove(&lines);
        }
    }

    /// Returns whether a value is a non-empty map or list in block style.
    fn is_block(&self, value: Value<'_>) -> bool {
        let (line, column) = place(value);
        let first = self.lines.get(line).and_then(|line| line.chars().nth(column));
        match value.kind() {
            Kind::Object => !value.is_empty() && !matches!(first, Some('{' | '&' | '*' | '!') | None),
            Kind::Array => !value.is_empty() && first == Some('-'),
            _ => false,
        }
    }

    /// Returns whether only spaces precede a column.
    fn begins(&self, line: usize, column: usize) -> bool {
        self.lines[line].chars().take(column).all(|c| c == ' ')
    }

    /// Returns the line after the entry whose key is at `column`.
    fn entry_end(&self, start: usize, column: usize, list: bool) -> usize {
        self.end(start, |indent, rest| indent > column || (list && indent == column && is_dash(rest)), column)
    }

    /// Returns the line after the item whose dash is at `dash`.
    fn item_end(&self, start: usize, dash: usize) -> usize {
        self.end(start, |indent, _| indent > dash, dash)
    }

    /// Returns the line after what begins at `start` and continues while lines belong to it. Comments and empty lines at the
    /// end belong to what follows.
    fn end(&self, start: usize, belongs: impl Fn(usize, &str) -> bool, column: usize) -> usize {
        let mut end = start + 1;
        for (number, line) in self.lines.iter().enumerate().skip(start + 1) {
            let rest = line.trim_start();
            let indent = line.len() - rest.len();
            if rest.is_empty() || (rest.starts_with('#') && indent <= column) {
                continue;
            }
            if !belongs(indent, rest) {
                break;
            }
            end = number + 1;
        }
        end
    }

    fn apply(self) -> String {
        let mut out: Vec<String> = Vec::with_capacity(self.lines.len());
        let mut at = 0;
        for ((start, end), lines) in self.edits {
            out.extend(self.lines[at.min(start)..start].iter().map(|&line| line.to_owned()));
            out.extend(lines);
            at = at.max(end);
        }
        out.extend(self.lines[at..].iter().map(|&line| line.to_owned()));
        out.push(String::new());
        out.join("\n")
    }
}

fn place(value: Value<'_>) -> (usize, usize) {
    let position = value.position();
    (position.line.saturating_sub(1) as usize, position.column.saturating_sub(1) as usize)
}

fn is_dash(rest: &str) -> bool {
    rest == "-" || rest.starts_with("- ")
}

fn entry(key: &str, value: &Json, column: usize) -> Vec<String> {
    let mut map = Map::new();
    map.insert(key.to_owned(), value.clone());
    indented(&Json::Object(map), column)
}

fn indented(json: &Json, column: usize) -> Vec<String> {
    let spaces = " ".repeat(column);
    emit(json)
        .lines()
        .map(|line| if line.is_empty() { String::new() } else { format!("{spaces}{line}") })
        .collect()
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
