//! One YAML document as an arena of nodes: 32 bytes a node, no allocation for each, aliases shared instead of copied.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::path::{Path, Step};
use super::position::Position;
use super::scalar::{MAX_WHOLE_FLOAT, Scalar};
use crate::scalar_offsets::{Style, position_within};

/// Why a text is not a YAML document that Kubernetes reads.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} at line {}, column {}", position.line, position.column)]
pub struct SyntaxError {
    /// The message, without the position.
    pub message: String,
    /// The position of the cause if it is known, and otherwise where parsing stopped.
    pub position: Position,
    /// What to do about it, if the likely cause is known.
    pub help: Option<&'static str>,
}

impl SyntaxError {
    /// Returns an error whose cause is not known.
    #[must_use]
    pub fn new(message: impl Into<String>, position: Position) -> Self {
        Self { message: message.into(), position, help: None }
    }

    /// Returns the message, followed by what to do about it if that is known.
    #[must_use]
    pub fn with_help(&self) -> Cow<'_, str> {
        match self.help {
            Some(help) => format!("{}; {help}", self.message).into(),
            None => self.message.as_str().into(),
        }
    }
}

/// The number of a node within its [`Tree`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeId(u32);

#[derive(Debug, Clone, Copy)]
enum Data {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Float(f64),
    String,
    Sequence,
    Mapping,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    data: Data,
    /// Scalars: the range of the text. Sequences and mappings: the range of the children's ids.
    start: u32,
    end: u32,
    position: Position,
}

/// One YAML document.
#[derive(Debug, Default)]
pub struct Tree {
    nodes: Vec<Node>,
    children: Vec<NodeId>,
    text: String,
    root: Option<NodeId>,
    /// How those scalars are written that positions can be computed within, sorted by node.
    written: Vec<Written>,
    /// The text that the document was parsed from, if `written` refers to it.
    source: Option<Arc<str>>,
    /// The order of the entries of large maps by their keys, sorted by where the maps' children begin.
    orders: Vec<(u32, OnceLock<Vec<u32>>)>,
}

#[derive(Debug, Clone, Copy)]
struct Written {
    node: NodeId,
    style: Style,
    /// The range in the source.
    start: u32,
    end: u32,
}

impl Tree {
    /// Returns the document's value; null if the document is empty.
    #[must_use]
    pub fn root(&self) -> Value<'_> {
        static NULL: Tree = Tree {
            nodes: Vec::new(),
            children: Vec::new(),
            text: String::new(),
            root: None,
            written: Vec::new(),
            source: None,
            orders: Vec::new(),
        };
        match self.root {
            Some(id) => Value { tree: self, id },
            None => Value { tree: &NULL, id: NodeId(0) },
        }
    }

    /// Returns the ranges of the document's text that scalars of several lines or of many bytes take, in order. They
    /// tell what is written within a scalar from what is written beside it, such as a comment.
    pub fn scalars(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.written.iter().map(|written| written.start as usize..written.end as usize)
    }

    /// Returns how deep the document is nested: 1 for a scalar, 2 for a list of scalars.
    #[must_use]
    pub fn depth(&self) -> usize {
        // Children come before what holds them.
        let mut depths: Vec<u32> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let below = match node.data {
                Data::Sequence | Data::Mapping => {
                    let children = &self.children[node.start as usize..node.end as usize];
                    children.iter().filter_map(|child| depths.get(child.0 as usize)).max().copied()
                }
                _ => None,
            };
            depths.push(below.unwrap_or_default() + 1);
        }
        depths.into_iter().max().map_or(0, |depth| depth as usize)
    }
}

/// Builds a [`Tree`] bottom-up: children first, then the sequence or mapping that holds them.
#[derive(Debug, Default)]
pub struct Builder {
    tree: Tree,
}

impl Builder {
    /// Returns a builder with capacity for a document of `bytes` bytes.
    #[must_use]
    pub fn with_capacity(bytes: usize) -> Self {
        // Measured over published bundles: a node for every 20 bytes, half of the bytes within scalars.
        let tree = Tree {
            nodes: Vec::with_capacity(bytes / 20),
            children: Vec::with_capacity(bytes / 20),
            text: String::with_capacity(bytes / 2),
            ..Tree::default()
        };
        Self { tree }
    }

    /// Adds a scalar with its text as written and its resolved value.
    pub fn scalar(&mut self, text: &str, value: Scalar, position: Position) -> NodeId {
        let data = match value {
            Scalar::Null => Data::Null,
            Scalar::Bool(value) => Data::Bool(value),
            Scalar::Int(value) => Data::Int(value),
            Scalar::UInt(value) => Data::UInt(value),
            Scalar::Float(value) => Data::Float(value),
            Scalar::String => Data::String,
        };
        let start = offset(self.tree.text.len());
        self.tree.text.push_str(text);
        self.push(Node { data, start, end: offset(self.tree.text.len()), position })
    }

    /// Records how the scalar added last is written, and where: as a range of bytes of the document's text.
    pub fn written(&mut self, node: NodeId, style: Style, start: usize, end: usize) {
        self.tree.written.push(Written { node, style, start: offset(start), end: offset(end) });
    }

    /// Whether [`Builder::written`] needs the document's text.
    #[must_use]
    pub(crate) fn needs_source(&self) -> bool {
        !self.tree.written.is_empty()
    }

    /// Keeps the text that the document is parsed from.
    pub(crate) fn set_source(&mut self, source: Arc<str>) {
        self.tree.source = Some(source);
    }

    /// Adds a sequence of nodes added before.
    pub fn sequence(&mut self, items: &[NodeId], position: Position) -> NodeId {
        self.collection(Data::Sequence, items, position)
    }

    /// Adds a mapping of nodes added before: key, value, key, value…
    pub fn mapping(&mut self, entries: &[NodeId], position: Position) -> NodeId {
        if entries.len() / 2 > SMALL_MAP {
            self.tree.orders.push((offset(self.tree.children.len()), OnceLock::new()));
        }
        self.collection(Data::Mapping, entries, position)
    }

    /// Adds another name for a node, as an alias does: the content is shared.
    pub fn alias(&mut self, target: NodeId, position: Position) -> NodeId {
        let node = self.tree.nodes[target.0 as usize];
        self.push(Node { position, ..node })
    }

    /// Returns a node added before.
    #[must_use]
    pub fn value(&self, id: NodeId) -> Value<'_> {
        Value { tree: &self.tree, id }
    }

    /// Returns the children of a node added before, in order; keys and values alternate in a mapping.
    #[must_use]
    pub fn children(&self, id: NodeId) -> &[NodeId] {
        self.value(id).children()
    }

    /// Returns the finished document.
    #[must_use]
    pub fn finish(mut self, root: Option<NodeId>) -> Tree {
        self.tree.root = root;
        self.tree
    }

    fn collection(&mut self, data: Data, children: &[NodeId], position: Position) -> NodeId {
        let start = offset(self.tree.children.len());
        self.tree.children.extend_from_slice(children);
        self.push(Node { data, start, end: offset(self.tree.children.len()), position })
    }

    fn push(&mut self, node: Node) -> NodeId {
        let id = NodeId(offset(self.tree.nodes.len()));
        self.tree.nodes.push(node);
        id
    }
}

/// Offsets fit in 32 bits because readers reject files of 4 GiB long before.
fn offset(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// Up to this many entries, comparing keys one by one is faster than a search or a table.
const SMALL_MAP: usize = 16;

/// What a [`Value`] is, in JSON's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Boolean,
    /// a number without a fraction in the text
    Integer,
    /// any other number
    Number,
    /// a string
    String,
    /// a list
    Array,
    /// a map
    Object,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Null => "null",
            Self::Boolean => "a boolean",
            Self::Integer => "an integer",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "a list",
            Self::Object => "a map",
        })
    }
}

/// A reference to one node of a [`Tree`]; as cheap to copy as a pointer.
#[derive(Clone, Copy)]
pub struct Value<'a> {
    tree: &'a Tree,
    id: NodeId,
}

impl<'a> Value<'a> {
    fn node(self) -> Node {
        const NULL: Node =
            Node { data: Data::Null, start: 0, end: 0, position: Position { line: 1, column: 1 } };
        self.tree.nodes.get(self.id.0 as usize).copied().unwrap_or(NULL)
    }

    fn children(self) -> &'a [NodeId] {
        let node = self.node();
        match node.data {
            Data::Sequence | Data::Mapping => &self.tree.children[node.start as usize..node.end as usize],
            _ => &[],
        }
    }

    /// Returns the depth of the document: 1 for a scalar, 2 for a list of scalars.
    #[must_use]
    pub fn depth(self) -> usize {
        self.tree.depth()
    }

    /// Returns the number of nodes of the document.
    #[must_use]
    pub fn document_size(self) -> usize {
        self.tree.nodes.len()
    }

    /// Returns the kind of the value.
    #[must_use]
    pub fn kind(self) -> Kind {
        match self.node().data {
            Data::Null => Kind::Null,
            Data::Bool(_) => Kind::Boolean,
            Data::Int(_) | Data::UInt(_) => Kind::Integer,
            Data::Float(_) => Kind::Number,
            Data::String => Kind::String,
            Data::Sequence => Kind::Array,
            Data::Mapping => Kind::Object,
        }
    }

    /// Returns where the value begins in its file.
    #[must_use]
    pub fn position(self) -> Position {
        self.node().position
    }

    /// Returns whether the value is null.
    #[must_use]
    pub fn is_null(self) -> bool {
        matches!(self.node().data, Data::Null)
    }

    /// Returns the string; nothing for any other kind.
    #[must_use]
    pub fn as_str(self) -> Option<&'a str> {
        matches!(self.node().data, Data::String).then(|| self.text())
    }

    /// Returns a scalar as it is written, whatever its kind, without quotes; empty for lists and maps.
    #[must_use]
    pub fn text(self) -> &'a str {
        let node = self.node();
        match node.data {
            Data::Sequence | Data::Mapping => "",
            _ => &self.tree.text[node.start as usize..node.end as usize],
        }
    }

    /// Returns the boolean; nothing for any other kind.
    #[must_use]
    pub fn as_bool(self) -> Option<bool> {
        if let Data::Bool(value) = self.node().data { Some(value) } else { None }
    }

    /// Returns the integer, also if it is written as a float without fraction (`1.0`, `1e3`), which JSON writes as one.
    #[must_use]
    pub fn as_i64(self) -> Option<i64> {
        match self.node().data {
            Data::Int(value) => Some(value),
            #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
            Data::Float(value) if value.fract() == 0.0 && value.abs() < MAX_WHOLE_FLOAT => Some(value as i64),
            _ => None,
        }
    }

    /// Returns the unsigned integer, with the rules of [`Value::as_i64`].
    #[must_use]
    pub fn as_u64(self) -> Option<u64> {
        match self.node().data {
            Data::UInt(value) => Some(value),
            _ => self.as_i64().and_then(|value| u64::try_from(value).ok()),
        }
    }

    /// Returns any number as a double.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "as JSON's numbers do")]
    pub fn as_f64(self) -> Option<f64> {
        match self.node().data {
            Data::Int(value) => Some(value as f64),
            Data::UInt(value) => Some(value as f64),
            Data::Float(value) => Some(value),
            _ => None,
        }
    }

    /// Returns null, in place of a missing value.
    #[must_use]
    pub fn nothing(self) -> Value<'a> {
        Value { tree: self.tree, id: NodeId(u32::MAX) }
    }

    /// Returns the value of a key of a map; the last of several equal keys, as in Go's decoders.
    #[must_use]
    pub fn get(self, key: &str) -> Option<Value<'a>> {
        if self.kind() != Kind::Object {
            return None;
        }
        self.entry(key).map(|(_, value)| value)
    }

    /// Returns the value that a chain of keys leads to.
    #[must_use]
    pub fn dig(self, keys: &[&str]) -> Option<Value<'a>> {
        keys.iter().try_fold(self, |value, key| value.get(key))
    }

    /// Returns the keys and values of a map in the file's order, duplicates included; empty for any other kind.
    #[must_use]
    pub fn entries(self) -> impl DoubleEndedIterator<Item = (Value<'a>, Value<'a>)> + use<'a> {
        let pairs = if self.kind() == Kind::Object { self.children() } else { &[] };
        pairs.chunks_exact(2).map(move |pair| (self.at(pair[0]), self.at(pair[1])))
    }

    /// Returns the keys and values of a map, each key once with the value that counts: the last.
    pub fn unique_entries(self) -> impl Iterator<Item = (Value<'a>, Value<'a>)> + use<'a> {
        let mut last = std::collections::HashMap::new();
        if self.len() > SMALL_MAP {
            last.extend(self.entries().enumerate().map(|(index, (key, _))| (key.text(), index)));
        }
        self.entries().enumerate().filter_map(move |(index, entry)| {
            let key = entry.0.text();
            let counts = if last.is_empty() {
                !self.entries().skip(index + 1).any(|(other, _)| other.text() == key)
            } else {
                last.get(key) == Some(&index)
            };
            counts.then_some(entry)
        })
    }

    /// Returns the items of a list; empty for any other kind.
    #[must_use]
    pub fn items(self) -> impl ExactSizeIterator<Item = Value<'a>> + use<'a> {
        let items = if self.kind() == Kind::Array { self.children() } else { &[] };
        items.iter().map(move |&id| self.at(id))
    }

    /// Returns an item of a list, by its index from zero.
    #[must_use]
    pub fn item(self, index: usize) -> Option<Value<'a>> {
        if self.kind() != Kind::Array {
            return None;
        }
        self.children().get(index).map(|&id| self.at(id))
    }

    /// Returns the number of entries or items.
    #[must_use]
    pub fn len(self) -> usize {
        match self.kind() {
            Kind::Object => self.children().len() / 2,
            _ => self.children().len(),
        }
    }

    /// Returns whether the value has no entries or items.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.children().is_empty()
    }

    /// Returns the position of `path` below this value, or of its nearest ancestor that exists: that of the key for an
    /// entry of a map, that of the item for an item of a list.
    #[must_use]
    pub fn locate(self, path: &Path<'_>) -> Position {
        let mut here = self;
        let mut position = self.position();
        for step in path.steps() {
            let found = match step {
                Step::Field(names) => {
                    let mut found = None;
                    for name in names.split('.') {
                        found = here.entry(name);
                        let Some((key, value)) = found else { break };
                        (position, here) = (key.position(), value);
                    }
                    found
                }
                Step::Key(name) => here.entry(name),
                Step::Index(index) => here.item(index).map(|item| (item, item)),
            };
            let Some((key, value)) = found else { break };
            (position, here) = (key.position(), value);
        }
        position
    }

    /// Returns the value at a path.
    #[must_use]
    pub fn at_path(self, path: &Path<'_>) -> Option<Value<'a>> {
        path.steps().into_iter().try_fold(self, |value, step| match step {
            Step::Field(name) => name.split('.').try_fold(value, Value::get),
            Step::Key(name) => value.get(name),
            Step::Index(index) => value.item(index),
        })
    }

    /// The last entry of a map with a key, and so the one that counts.
    fn entry(self, name: &str) -> Option<(Value<'a>, Value<'a>)> {
        let Some(order) = self.order() else {
            return self.entries().rev().find(|(key, _)| key.text() == name);
        };
        let children = self.children();
        let entry =
            |&index: &u32| (self.at(children[index as usize * 2]), self.at(children[index as usize * 2 + 1]));
        let end = order.partition_point(|index| entry(index).0.text() <= name);
        let last = entry(order.get(end.checked_sub(1)?)?);
        (last.0.text() == name).then_some(last)
    }

    /// The indices of a large map's entries, sorted by key and then as they are written; nothing for other values.
    fn order(self) -> Option<&'a [u32]> {
        if self.kind() != Kind::Object || self.len() <= SMALL_MAP {
            return None;
        }
        let orders = &self.tree.orders;
        let at = orders.binary_search_by_key(&self.node().start, |&(start, _)| start).ok()?;
        Some(orders[at].1.get_or_init(|| {
            let children = self.children();
            let mut order: Vec<u32> = (0..offset(self.len())).collect();
            order.sort_by_key(|&index| self.at(children[index as usize * 2]).text());
            order
        }))
    }

    /// Returns the position of the byte `offset` of a string's text. If it cannot be determined (in a short string, an alias or
    /// a folded scalar of an unusual form), it is that of the value.
    #[must_use]
    pub(crate) fn position_within(self, offset: usize) -> Position {
        let start = self.position();
        let Ok(at) = self.tree.written.binary_search_by_key(&self.id, |written| written.node) else {
            return start;
        };
        let written = self.tree.written[at];
        let source = self.tree.source.as_deref().unwrap_or_default();
        source
            .get(written.start as usize..(written.end as usize).min(source.len()))
            .and_then(|source| position_within(source, start, written.style, self.text(), offset))
            .unwrap_or(start)
    }

    /// Returns the position of the byte `offset` of a string's text, as `position_within` does, also in a short
    /// string, which is written on one line; `document` is the text of the file.
    #[must_use]
    pub fn position_within_text(self, offset: usize, document: &[u8]) -> Position {
        let start = self.position();
        let found = self.position_within(offset);
        if found != start
            || offset == 0
            || self.tree.written.binary_search_by_key(&self.id, |written| written.node).is_ok()
        {
            return found;
        }
        let line = (start.line as usize)
            .checked_sub(1)
            .and_then(|line| document.split(|byte| *byte == b'\n').nth(line));
        let line = line.and_then(|line| std::str::from_utf8(line).ok()).unwrap_or_default();
        let source = line.char_indices().nth((start.column as usize).saturating_sub(1));
        let Some(source) = source.map(|(at, _)| &line[at..]) else { return start };
        let style = match source.chars().next() {
            Some('"') => Style::DoubleQuoted,
            Some('\'') => Style::SingleQuoted,
            // An alias, or a scalar with an anchor or a tag, is written elsewhere or begins later.
            Some('*' | '&' | '!') | None => return start,
            Some(_) => Style::Plain,
        };
        position_within(source, start, style, self.text(), offset).unwrap_or(start)
    }

    /// Converts the value to JSON as `sigs.k8s.io/yaml` does: floats without fraction become integers, the last of equal
    /// keys counts. Infinite numbers, which JSON does not have, become null.
    #[must_use]
    pub fn to_json(self) -> serde_json::Value {
        use serde_json::Value as Json;
        match self.node().data {
            Data::Null => Json::Null,
            Data::Bool(value) => Json::Bool(value),
            Data::Int(value) => value.into(),
            Data::UInt(value) => value.into(),
            Data::Float(value) => self.as_i64().map_or_else(|| value.into(), Into::into),
            Data::String => Json::String(self.text().to_owned()),
            Data::Sequence => Json::Array(self.items().map(Value::to_json).collect()),
            Data::Mapping => Json::Object(
                self.entries().map(|(key, value)| (key.text().to_owned(), value.to_json())).collect(),
            ),
        }
    }

    /// Returns whether two values are the same as JSON. It takes no longer than the smaller one is: of values with different
    /// numbers of entries, one with a key twice equals none.
    #[must_use]
    pub fn is_same(self, other: Value<'_>) -> bool {
        match (self.kind(), other.kind()) {
            (Kind::Array, Kind::Array) => {
                self.len() == other.len()
                    && self.items().zip(other.items()).all(|(one, other)| one.is_same(other))
            }
            (Kind::Object, Kind::Object) if self.len() == other.len() => {
                let own: HashMap<_, _> = self.entries().map(|(key, value)| (key.text(), value)).collect();
                let others: HashMap<_, _> = other.entries().map(|(key, value)| (key.text(), value)).collect();
                let is_same = |(key, value): (&&str, &Value<'_>)| {
                    others.get(key).is_some_and(|other| value.is_same(*other))
                };
                own.len() == others.len() && own.iter().all(is_same)
            }
            (Kind::String, Kind::String) => self.text() == other.text(),
            (Kind::Array | Kind::Object | Kind::String, _)
            | (_, Kind::Array | Kind::Object | Kind::String) => false,
            _ => self.to_json() == other.to_json(),
        }
    }

    fn at(self, id: NodeId) -> Value<'a> {
        Value { tree: self.tree, id }
    }
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.to_json())
    }
}
