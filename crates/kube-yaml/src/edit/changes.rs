//! Turns one change of a value into a replacement of bytes.

use std::collections::HashMap;
use std::ops::Range;

use serde_json::Value as Json;

use super::layout::{self, is_flow, line_end, line_start};
use super::{Change, Edit, Location, PathStep};
use crate::spans::{Content, Span};
use crate::{Position, Scalar, Style, is_same_name, resolve};

/// A replacement of bytes, and what it should do to the value of the document.
#[derive(Debug)]
pub(crate) struct Replacement {
    /// The bytes that are replaced.
    pub(crate) range: Range<usize>,
    /// What replaces them.
    pub(crate) text: String,
    /// What is changed.
    pub(crate) path: Vec<PathStep>,
    /// How it is changed.
    pub(crate) meaning: Meaning,
}

/// What a replacement does to the value of the document.
#[derive(Debug)]
pub(crate) enum Meaning {
    Set(Json),
    Insert(String, String),
    Rename(String),
    Remove,
    RemoveDuplicate,
}

/// The value that an edit changes, and what holds it.
struct Target<'s> {
    path: Vec<PathStep>,
    /// The map or list that holds the value, and its index there; `None` for the root.
    parent: Option<(&'s Span, usize)>,
    value: &'s Span,
}

/// Finds the values that edits change. What it searches is indexed when it is first needed, in time in proportion to its size, so that
/// many edits of one map or document take no longer to find than its entries take to read.
pub(crate) struct Targets<'s> {
    root: &'s Span,
    positions: Option<Positions<'s>>,
    /// The keys of the maps that were searched.
    keys: HashMap<*const Span, HashMap<&'s str, Key>>,
}

/// The entries of a map that have the same key.
#[derive(Default)]
struct Key {
    count: usize,
    /// The index of the last one, which counts.
    last: usize,
}

impl<'s> Targets<'s> {
    pub(crate) fn new(root: &'s Span) -> Self {
        Self { root, positions: None, keys: HashMap::new() }
    }

    fn find(&mut self, location: &Location) -> Option<Target<'s>> {
        match location {
            Location::Path(steps) => self.at_path(steps),
            Location::Position(position) => {
                self.positions.get_or_insert_with(|| Positions::new(self.root)).find(*position)
            }
        }
    }

    /// Returns the keys of a map.
    fn keys(&mut self, map: &'s Span) -> &HashMap<&'s str, Key> {
        self.keys.entry(std::ptr::from_ref(map)).or_insert_with(|| {
            let mut keys: HashMap<&str, Key> = HashMap::new();
            let Content::Mapping(_, entries) = &map.content else { return keys };
            for (index, (key, _)) in entries.iter().enumerate() {
                if let Content::Scalar(_, text, _) = &key.content {
                    let key = keys.entry(text).or_default();
                    *key = Key { count: key.count + 1, last: index };
                }
            }
            keys
        })
    }

    /// Returns the index of the entry of a map with the key `name`, or with one that differs in case alone, which Go reads as the same.
    /// The last of several equal keys counts.
    fn entry(&mut self, map: &'s Span, entries: &'s [(Span, Span)], name: &str) -> Option<usize> {
        if let Some(key) = self.keys(map).get(name) {
            return Some(key.last);
        }
        let is_same = |(key, _): &(Span, Span)| matches!(&key.content, Content::Scalar(_, text, _) if is_same_name(text, name));
        entries.iter().rposition(is_same)
    }

    fn at_path(&mut self, steps: &[PathStep]) -> Option<Target<'s>> {
        let mut target = Target { path: Vec::new(), parent: None, value: self.root };
        for step in steps {
            let here = target.value;
            let (step, index, value) = match (step, &here.content) {
                (PathStep::Key(name), Content::Mapping(_, entries)) => {
                    let index = self.entry(here, entries, name)?;
                    let (key, value) = entries.get(index)?;
                    let Content::Scalar(_, key, _) = &key.content else { return None };
                    (PathStep::Key(key.clone()), index, value)
                }
                (PathStep::Index(index), Content::Sequence(_, items)) => {
                    (step.clone(), *index, items.get(*index)?)
                }
                _ => return None,
            };
            target.path.push(step);
            target.parent = Some((here, index));
            target.value = value;
        }
        Some(target)
    }
}

/// The values of a document by where they begin. It takes time in proportion to the document to build, and none to search.
struct Positions<'s> {
    nodes: Vec<Node<'s>>,
    /// The entry whose key, or the scalar that begins at a position.
    by_position: HashMap<Position, usize>,
}

struct Node<'s> {
    span: &'s Span,
    /// The node that holds this one, and the index there.
    parent: Option<(usize, usize)>,
}

impl<'s> Positions<'s> {
    fn new(root: &'s Span) -> Self {
        let mut found = Self { nodes: vec![Node { span: root, parent: None }], by_position: HashMap::new() };
        let mut next = 0;
        while next < found.nodes.len() {
            match &found.nodes[next].span.content {
                Content::Mapping(_, entries) => {
                    for (index, (key, value)) in entries.iter().enumerate() {
                        if matches!(key.content, Content::Scalar(..)) {
                            found.add(value, next, index, Some(key));
                        }
                    }
                }
                Content::Sequence(_, items) => {
                    for (index, item) in items.iter().enumerate() {
                        found.add(item, next, index, None);
                    }
                }
                Content::Scalar(..) | Content::Alias => {}
            }
            next += 1;
        }
        found
    }

    fn add(&mut self, span: &'s Span, parent: usize, index: usize, key: Option<&Span>) {
        let node = self.nodes.len();
        self.nodes.push(Node { span, parent: Some((parent, index)) });
        if let Some(key) = key {
            self.by_position.entry(key.position).or_insert(node);
        }
        // A map in a list begins where its first key does.
        if matches!(span.content, Content::Scalar(..)) {
            self.by_position.entry(span.position).or_insert(node);
        }
    }

    /// Returns the entry whose key, or the scalar that begins at a position.
    fn find(&self, position: Position) -> Option<Target<'s>> {
        let found = &self.nodes[*self.by_position.get(&position)?];
        let mut path = Vec::new();
        let mut node = found;
        while let Some((parent, index)) = node.parent {
            let holder = &self.nodes[parent];
            path.push(match &holder.span.content {
                Content::Mapping(_, entries) => match &entries.get(index)?.0.content {
                    Content::Scalar(_, name, _) => PathStep::Key(name.clone()),
                    _ => return None,
                },
                _ => PathStep::Index(index),
            });
            node = holder;
        }
        path.reverse();
        let parent = found.parent.map(|(parent, index)| (self.nodes[parent].span, index));
        Some(Target { path, parent, value: found.span })
    }
}

/// Returns the replacement that an edit stands for; `None` if it cannot be written.
pub(crate) fn replacement(text: &str, targets: &mut Targets<'_>, edit: &Edit) -> Option<Replacement> {
    let Target { path, parent, value } = targets.find(&edit.location)?;
    let replacement = |range, text, meaning| Some(Replacement { range, text, path: path.clone(), meaning });
    let in_flow = parent.is_some_and(|(parent, _)| is_flow(parent));
    match &edit.change {
        Change::SetString(new) => {
            let Content::Scalar(style, _, true) = &value.content else { return None };
            if matches!(style, Style::Literal | Style::Folded) {
                return None;
            }
            let new_text = layout::string(new, *style, in_flow);
            let new_text = layout::spaced(text, value, new_text);
            replacement(value.range.clone(), new_text, Meaning::Set(new.as_str().into()))
        }
        Change::SetLiteral(new) => {
            let Content::Scalar(_, _, true) = &value.content else { return None };
            let new_text = layout::spaced(text, value, new.clone());
            replacement(value.range.clone(), new_text, Meaning::Set(plain(new)))
        }
        Change::Insert(key, new) => {
            let (at, inserted) = insertion(text, value, key, new)?;
            replacement(at..at, inserted, Meaning::Insert(key.clone(), new.clone()))
        }
        Change::Rename(name) => {
            let (Span { content: Content::Mapping(_, entries), .. }, index) = parent? else { return None };
            let (key, _) = &entries[index];
            let Content::Scalar(style, _, true) = &key.content else { return None };
            let new_text = layout::string(name, *style, in_flow);
            replacement(key.range.clone(), new_text, Meaning::Rename(name.clone()))
        }
        Change::Remove => {
            let (parent, index) = parent?;
            replacement(removal(text, parent, index)?, String::new(), Meaning::Remove)
        }
        Change::RemoveDuplicate => {
            let (parent, index) = parent?;
            let Some(PathStep::Key(name)) = path.last() else { return None };
            if targets.keys(parent).get(name.as_str())?.count < 2 {
                return None;
            }
            replacement(removal(text, parent, index)?, String::new(), Meaning::RemoveDuplicate)
        }
    }
}

/// Returns the value of a plain scalar.
fn plain(text: &str) -> Json {
    match resolve(text) {
        Scalar::Null => Json::Null,
        Scalar::Bool(value) => value.into(),
        Scalar::Int(value) => value.into(),
        Scalar::UInt(value) => value.into(),
        Scalar::Float(value) => value.into(),
        Scalar::String => text.into(),
    }
}

/// Returns where an entry is added to a map, and the text.
fn insertion(text: &str, map: &Span, key: &str, value: &str) -> Option<(usize, String)> {
    let Content::Mapping(flow, entries) = &map.content else { return None };
    let (first, _) = entries.first()?;
    let (last_key, last) = entries.last()?;
    // JSON stays JSON.
    let style = match first.content {
        Content::Scalar(Style::DoubleQuoted, ..) if *flow => Style::DoubleQuoted,
        _ => Style::Plain,
    };
    let key = layout::string(key, style, *flow);
    let value = layout::string(value, style, *flow);
    let line_break = layout::line_break(text);
    if *flow {
        let line = line_start(text, last_key.range.start);
        let indent = Some(&text[line..last_key.range.start]).filter(|_| line > 0);
        let separator = match indent.filter(|indent| indent.trim().is_empty()) {
            Some(indent) => format!(",{line_break}{indent}"),
            None => ", ".to_owned(),
        };
        return Some((last.range.end, format!("{separator}{key}: {value}")));
    }
    let column = first.position.column as usize - 1;
    let end = line_end(text, last.range.end);
    let is_open = !text[..end].ends_with(layout::is_break);
    let indent = " ".repeat(column);
    Some(if is_open {
        (end, format!("{line_break}{indent}{key}: {value}"))
    } else {
        (end, format!("{indent}{key}: {value}{line_break}"))
    })
}

/// Returns the bytes of an entry or an item, so that what is left is valid.
pub(crate) fn removal(text: &str, parent: &Span, index: usize) -> Option<Range<usize>> {
    let length = match &parent.content {
        Content::Mapping(_, entries) => entries.len(),
        Content::Sequence(_, items) => items.len(),
        Content::Scalar(..) | Content::Alias => return None,
    };
    // An empty collection in block style is null.
    if length < 2 && !is_flow(parent) {
        return None;
    }
    let range = &child(parent, index)?;
    let next = child(parent, index + 1);
    if is_flow(parent) {
        let before = index.checked_sub(1).and_then(|before| child(parent, before));
        let from = before.as_ref().map_or(parent.range.start, |before| before.end);
        let to = next.as_ref().map_or(parent.range.end, |next| next.start);
        if text[from..range.start].contains('#') || text[range.end..to].contains('#') {
            return whole_lines(text, range);
        }
        return Some(match (next, before) {
            (Some(next), _) => range.start..next.start,
            (None, Some(before)) => before.end..range.end,
            (None, None) => range.clone(),
        });
    }
    let line = line_start(text, range.start);
    let before = &text[line..range.start];
    let is_item = matches!(parent.content, Content::Sequence(..));
    let marker = before.trim_start();
    // Only the indentation, and the dash of an item, precede what is removed.
    if if is_item { marker.trim_end() == "-" } else { marker.is_empty() } {
        return Some(line..line_end(text, range.end));
    }
    // The first entry follows a dash, which the next one takes over.
    let next = next?;
    let between = &text[range.end..next.start];
    (index == 0 && !between.contains('#')).then_some(range.start..next.start)
}

/// Returns the bytes of an entry of a map or an item of a list.
fn child(parent: &Span, index: usize) -> Option<Range<usize>> {
    match &parent.content {
        Content::Mapping(_, entries) => {
            entries.get(index).map(|(key, value)| key.range.start..value.range.end.max(key.range.end))
        }
        Content::Sequence(_, items) => items.get(index).map(|item| item.range.clone()),
        Content::Scalar(..) | Content::Alias => None,
    }
}

/// Returns the lines of an entry of a flow collection, with its comma and its comment; nothing if they contain anything else. A
/// comma may be left before the end of the collection.
fn whole_lines(text: &str, entry: &Range<usize>) -> Option<Range<usize>> {
    let line = line_start(text, entry.start);
    let end = line_end(text, entry.end);
    let before = text[line..entry.start].trim();
    let after = text[entry.end..end].trim_start();
    let after = after.strip_prefix(',').unwrap_or(after).trim_start();
    (before.is_empty() && (after.is_empty() || after.starts_with('#'))).then_some(line..end)
}
