//! Parses text into [`Tree`]s, with libyaml's parser and go-yaml v2's reading of scalars, tags, aliases and merges.
//!
//! Kubernetes and OLM read YAML through go-yaml v2, a port of libyaml. What that port rejects is rejected here for the
//! same reason. Nothing else is, except what exceeds a limit: [`MAX_DEPTH`], [`MAX_DEPTH_SUM`], [`MAX_VALUES`], [`MAX_DOCUMENTS`],
//! [`MAX_ALIASED_VALUES`], [`MAX_ALIASED_BYTES`], [`MAX_TAG_DIRECTIVES`], [`MAX_TAG_DIRECTIVE_BYTES`]. How many bytes are
//! read is limited by whoever reads them ([`super::file`]).

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine as _;
use libyaml_safer::{Event, EventData, Mark, Parser, ScalarStyle};

use super::json;
use super::libyaml::{
    BYTE_ORDER_MARK, Chunks, START, check_characters, ended, excessive_directives, index, position,
    syntax_error, tag_before_comma, utf8,
};
pub use super::libyaml::{MAX_TAG_DIRECTIVE_BYTES, MAX_TAG_DIRECTIVES};
use crate::model::First;
use crate::model::text::excerpt;
use crate::model::yaml::{
    Builder, Kind, NodeId, Position, Scalar, Style, SyntaxError, Tree, resolve, single_text,
};

/// The maximum depth of nested collections. go-yaml's own limit is 10 000; no manifest comes near either.
pub const MAX_DEPTH: usize = 1000;

/// The maximum number of values in a text. So many are more than the 3 MiB of JSON that the API server reads.
pub const MAX_VALUES: u64 = 2_000_000;

/// The maximum sum of the depths of all values of a text: libyaml-safer's scanner looks at every open collection for each
/// token. Two million values at the depth of usual manifests add up to a tenth of this.
pub const MAX_DEPTH_SUM: u64 = 500_000_000;

/// The maximum number of documents in a text that are not empty.
pub const MAX_DOCUMENTS: usize = 100_000;

/// The maximum number of values that the aliases of a text stand for.
pub const MAX_ALIASED_VALUES: u64 = 300_000;

/// The maximum number of bytes that the aliases of a text stand for: more than the API server reads.
pub const MAX_ALIASED_BYTES: u64 = 16 << 20;

/// Positions within a scalar are known from this many bytes on, and wherever it has several lines.
const MIN_LOCATED: usize = 32;

/// What a text contains: the documents that could be read and, where reading stopped early, why.
#[derive(Debug)]
pub struct Parsed {
    /// The documents in the text's order.
    pub documents: Vec<Tree>,
    /// Why the rest could not be read.
    pub error: Option<SyntaxError>,
    /// What Kubernetes' parsers find, which stop at the first separator.
    pub first: First,
    /// The position of a string in a JSON text that YAML parsers reject.
    pub json_only: Option<Position>,
    /// What the aliases of all documents stand for.
    pub aliased: Aliased,
}

/// What aliases stand for. They take no memory until their documents are decoded: a reader of several texts adds up what
/// theirs stand for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Aliased {
    /// How many values.
    pub values: u64,
    /// How many bytes of text these have.
    pub bytes: u64,
}

impl Aliased {
    /// Adds what the aliases of one more text stand for.
    ///
    /// # Errors
    /// Together they exceed [`MAX_ALIASED_VALUES`] or [`MAX_ALIASED_BYTES`]; nothing is added then. The message says
    /// which.
    pub fn add(&mut self, other: Self) -> Result<(), String> {
        let sum = Self { values: self.values + other.values, bytes: self.bytes + other.bytes };
        sum.check()?;
        *self = sum;
        Ok(())
    }

    fn check(self) -> Result<(), String> {
        if self.values > MAX_ALIASED_VALUES {
            return Err(format!("aliases expand to more than {MAX_ALIASED_VALUES} values"));
        }
        if self.bytes > MAX_ALIASED_BYTES {
            return Err(format!("aliases expand to more than {MAX_ALIASED_BYTES} bytes"));
        }
        Ok(())
    }
}

/// Parses all documents of a text. Empty documents (nothing, or comments alone) are omitted.
#[must_use]
pub fn parse(text: &[u8]) -> Parsed {
    let unreadable = |wrong, json_only| Parsed {
        documents: Vec::new(),
        error: Some(wrong),
        first: First::Unreadable,
        json_only,
        aliased: Aliased::default(),
    };
    let text = match utf8(text) {
        Ok(text) => text,
        Err(wrong) => return unreadable(wrong, None),
    };
    let json_only = json::not_yaml(&text);
    let text = &*json::for_yaml(&text);
    match first_chunk(text) {
        Err(wrong) => unreadable(wrong, json_only),
        Ok(end) => {
            let all = documents(text);
            let (first, wrong) = if end == text.len() {
                (first(&all.trees, all.error.as_ref()), None)
            } else {
                let head = documents(&text[..end]);
                (first(&head.trees, head.error.as_ref()), head.error)
            };
            let error = if first == First::Unreadable { wrong.or(all.error) } else { all.error };
            Parsed { documents: all.trees, error, first, json_only, aliased: all.counts.aliased }
        }
    }
}

/// The documents of a text that could be read.
#[derive(Default)]
struct Documents {
    trees: Vec<Tree>,
    error: Option<SyntaxError>,
    counts: Counts,
}

/// What counts against the limits of a text.
#[derive(Default)]
struct Counts {
    values: u64,
    depths: u64,
    aliased: Aliased,
}

impl Counts {
    fn add_value(&mut self, depth: u64) -> Result<(), String> {
        self.values += 1;
        self.depths += depth;
        if self.values > MAX_VALUES {
            return Err(format!("more than {MAX_VALUES} values"));
        }
        if self.depths > MAX_DEPTH_SUM {
            return Err(format!("the depths of all values add up to more than {MAX_DEPTH_SUM}"));
        }
        Ok(())
    }
}

fn documents(text: &[u8]) -> Documents {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    if let Err(error) = check_characters(text) {
        return Documents { error: Some(error), ..Documents::default() };
    }
    match tag_before_comma(text).or_else(|| excessive_directives(text)) {
        Some((end, wrong)) => Documents { error: Some(wrong), ..read_documents(&text[..end]) },
        None => read_documents(text),
    }
}

fn read_documents(text: &[u8]) -> Documents {
    let ended = ended(text);
    let mut parser = Parser::new();
    parser.set_input(Chunks::new(&ended));
    let mut read = Documents::default();
    read.error = read_stream(&mut parser, text, &mut read).err();
    read
}

fn first(documents: &[Tree], error: Option<&SyntaxError>) -> First {
    // Parsers do not read what follows the first document.
    match (documents.is_empty(), error) {
        (false, _) => First::Value,
        (true, Some(_)) => First::Unreadable,
        (true, None) => First::Empty,
    }
}

/// Returns where the first separator is: a line that begins with `---`, except for the very first line. Kubernetes cuts
/// texts there before it parses them as YAML, and accepts nothing but a comment after the dashes.
///
/// Source: `util/yaml/decoder.go` of k8s.io/apimachinery (`YAMLReader`).
fn first_chunk(text: &[u8]) -> Result<usize, SyntaxError> {
    const SEPARATOR: &[u8] = b"---";
    let check = |start: usize| {
        let line = text[start..].split(|&byte| byte == b'\n').next().unwrap_or_default();
        let behind = line[SEPARATOR.len()..].trim_ascii();
        if behind.is_empty() || behind[0] == b'#' {
            return Ok(());
        }
        let line = u32::try_from(text[..start].split(|&byte| byte == b'\n').count()).unwrap_or(u32::MAX);
        let message = "only a comment is allowed after the document separator `---`".to_owned();
        Err(SyntaxError { message, position: Position { line, column: 4 } })
    };
    if text.trim_ascii_start().starts_with(b"{") {
        // JSON, which may not be cut.
        return Ok(text.len());
    }
    if text.starts_with(SEPARATOR) {
        check(0)?;
    }
    let mut from = 0;
    while let Some(newline) = text[from..].iter().position(|&byte| byte == b'\n') {
        let start = from + newline + 1;
        if text[start..].starts_with(SEPARATOR) {
            check(start)?;
            return Ok(start);
        }
        from = start;
    }
    Ok(text.len())
}

type Events<'b> = Parser<Chunks<'b>>;

fn read_stream(parser: &mut Events<'_>, text: &[u8], read: &mut Documents) -> Result<(), SyntaxError> {
    let slashes = text.windows(2).any(|pair| pair == b"\\/") && !json::is_json(text);
    let source = OnceCell::new();
    loop {
        let event = next(parser)?;
        match event.data {
            EventData::StreamEnd => return Ok(()),
            EventData::DocumentStart { .. } => {
                let capacity = if read.trees.is_empty() { text.len() } else { 0 };
                let document = Document {
                    text,
                    source: &source,
                    slashes,
                    builder: Builder::with_capacity(capacity),
                    open: Vec::new(),
                    pending: Vec::new(),
                    anchors: HashMap::new(),
                    decoded: 0,
                    aliased: 0,
                    bytes: 0,
                    counts: &mut read.counts,
                };
                let tree = document.read(parser)?;
                if tree.root().is_null() {
                    continue;
                }
                if read.trees.len() >= MAX_DOCUMENTS {
                    let message = format!("more than {MAX_DOCUMENTS} documents");
                    return Err(SyntaxError { message, position: tree.root().position() });
                }
                read.trees.push(tree);
            }
            _ => {}
        }
    }
}

fn next(parser: &mut Events<'_>) -> Result<Event, SyntaxError> {
    parser.parse().map_err(|error| syntax_error(&error))
}

/// Returns what JSON has for a key that is not a string; nothing where it is one, or null, which is not a key.
///
/// # Errors
/// Unsigned integers above `i64::MAX` are not keys.
///
/// Source: `convertToJSONableObject` of sigs.k8s.io/yaml.
fn key_text(key: Scalar) -> Result<Option<String>, String> {
    Ok(match key {
        Scalar::Null | Scalar::String => None,
        Scalar::Bool(value) => Some(value.to_string()),
        Scalar::Int(value) => Some(value.to_string()),
        Scalar::UInt(value) => return Err(format!("invalid key `{value}`: out of range")),
        Scalar::Float(value) if value.is_nan() => Some(".nan".to_owned()),
        Scalar::Float(f64::INFINITY) => Some(".inf".to_owned()),
        Scalar::Float(f64::NEG_INFINITY) => Some("-.inf".to_owned()),
        Scalar::Float(value) => Some(single_text(value)),
    })
}

const MERGE_TAG: &str = "tag:yaml.org,2002:merge";

/// A collection whose end has not been read.
struct Open {
    mapping: bool,
    /// Where its children begin in `pending`.
    from: usize,
    anchor: Option<String>,
    position: Position,
    /// `decoded` when the collection began, to know how much it holds.
    decoded_before: u64,
    /// As `decoded_before`, in bytes of text.
    bytes_before: u64,
    /// Which values of the mapping follow a merge key, as indices among its children, in order.
    merges: Vec<usize>,
}

#[derive(Clone, Copy)]
enum Anchor {
    /// Of the collection that is open at this depth.
    Open(usize),
    Done {
        node: NodeId,
        /// How many nodes go-yaml would decode for the alias.
        size: u64,
        /// How many bytes of text they have.
        bytes: u64,
    },
}

struct Document<'t> {
    /// The text, without a byte order mark.
    text: &'t [u8],
    /// The same, kept where a tree needs it.
    source: &'t OnceCell<Arc<str>>,
    /// Whether escaped slashes are to be looked for.
    slashes: bool,
    builder: Builder,
    open: Vec<Open>,
    /// The children of all open collections, those of the innermost last.
    pending: Vec<NodeId>,
    /// The latest anchor of each name.
    anchors: HashMap<String, Anchor>,
    decoded: u64,
    aliased: u64,
    /// Bytes of text, with those of aliases.
    bytes: u64,
    counts: &'t mut Counts,
}

impl Document<'_> {
    fn read(mut self, parser: &mut Events<'_>) -> Result<Tree, SyntaxError> {
        let mut root = None;
        loop {
            let event = next(parser)?;
            let place = position(event.start_mark);
            let node = match event.data {
                EventData::DocumentEnd { .. } | EventData::StreamEnd => {
                    return Ok(self.finish(root));
                }
                EventData::Scalar { anchor, tag, mut value, plain_implicit, style, .. } => {
                    if style == ScalarStyle::DoubleQuoted {
                        self.check_escapes(event.start_mark, event.end_mark)?;
                    }
                    let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                    // `ended` added a line break to the text.
                    if block && index(event.end_mark) > self.text.len() && value.ends_with('\n') {
                        value.pop();
                    }
                    let merge =
                        value == "<<" && tag.as_deref().map_or(plain_implicit, |tag| tag == MERGE_TAG);
                    let node = self.scalar(tag.as_deref(), &value, plain_implicit, place)?;
                    self.count(place)?;
                    let is_long = event.end_mark.line > event.start_mark.line || value.len() >= MIN_LOCATED;
                    if let Some(style) = written(style)
                        && is_long
                    {
                        self.builder.written(node, style, index(event.start_mark), index(event.end_mark));
                    }
                    let bytes = value.len() as u64;
                    self.bytes += bytes;
                    if let Some(anchor) = anchor {
                        self.anchors.insert(anchor, Anchor::Done { node, size: 1, bytes });
                    }
                    if merge
                        && self.at_key()
                        && let Some(open) = self.open.last_mut()
                    {
                        open.merges.push(self.pending.len() - open.from + 1);
                    }
                    node
                }
                EventData::Alias { anchor } => self.alias(&anchor, place)?,
                EventData::SequenceStart { anchor, .. } => {
                    self.begin(false, anchor, place)?;
                    continue;
                }
                EventData::MappingStart { anchor, .. } => {
                    self.begin(true, anchor, place)?;
                    continue;
                }
                EventData::SequenceEnd | EventData::MappingEnd => self.end()?,
                EventData::StreamStart { .. } | EventData::DocumentStart { .. } => continue,
            };
            if self.open.is_empty() {
                root = Some(node);
            } else {
                self.pending.push(node);
            }
        }
    }

    fn finish(mut self, root: Option<NodeId>) -> Tree {
        if self.builder.needs_source() {
            // The text was checked to be UTF-8.
            let source = self.source.get_or_init(|| String::from_utf8_lossy(self.text).into());
            self.builder.set_source(source.clone());
        }
        self.builder.finish(root)
    }

    /// Returns whether the next node is the key of a map.
    fn at_key(&self) -> bool {
        let is_even = |open: &Open| (self.pending.len() - open.from).is_multiple_of(2);
        self.open.last().is_some_and(|open| open.mapping && is_even(open))
    }

    /// Rejects the escape of a slash, which JSON and libyaml have, and go-yaml v2 does not.
    fn check_escapes(&self, start: Mark, end: Mark) -> Result<(), SyntaxError> {
        if !self.slashes {
            return Ok(());
        }
        let mut written = self.text.get(index(start)..index(end)).unwrap_or_default().iter();
        while let Some(byte) = written.next() {
            if *byte == b'\\' && written.next() == Some(&b'/') {
                let message = "found unknown escape character `\\/`".to_owned();
                return Err(SyntaxError { message, position: position(start) });
            }
        }
        Ok(())
    }

    fn begin(
        &mut self,
        mapping: bool,
        anchor: Option<String>,
        position: Position,
    ) -> Result<(), SyntaxError> {
        if self.open.len() >= MAX_DEPTH {
            return Err(SyntaxError { message: format!("nested deeper than {MAX_DEPTH} levels"), position });
        }
        self.count(position)?;
        let decoded_before = self.decoded;
        if let Some(anchor) = &anchor {
            self.anchors.insert(anchor.clone(), Anchor::Open(self.open.len()));
        }
        self.open.push(Open {
            mapping,
            from: self.pending.len(),
            anchor,
            position,
            decoded_before,
            bytes_before: self.bytes,
            merges: Vec::new(),
        });
        Ok(())
    }

    fn end(&mut self) -> Result<NodeId, SyntaxError> {
        let Some(open) = self.open.pop() else {
            return Err(SyntaxError {
                message: "unexpected end of a collection".to_owned(),
                position: START,
            });
        };
        if !open.merges.is_empty() {
            let merged = self.merge(&open)?;
            self.pending.truncate(open.from);
            self.pending.extend(merged);
        }
        let children = &self.pending[open.from..];
        let node = if open.mapping {
            self.check_keys(children)?;
            self.builder.mapping(children, open.position)
        } else {
            self.builder.sequence(children, open.position)
        };
        self.pending.truncate(open.from);
        if let Some(anchor) = open.anchor
            && let Some(latest) = self.anchors.get_mut(&anchor)
            && matches!(latest, Anchor::Open(depth) if *depth == self.open.len())
        {
            let size = self.decoded - open.decoded_before + 1;
            *latest = Anchor::Done { node, size, bytes: self.bytes - open.bytes_before };
        }
        Ok(node)
    }

    /// Counts one more value that is decoded.
    fn count(&mut self, position: Position) -> Result<(), SyntaxError> {
        self.decoded += 1;
        self.count_value(position)
    }

    /// Counts one more value that takes memory.
    fn count_value(&mut self, position: Position) -> Result<(), SyntaxError> {
        let depth = self.open.len() as u64;
        self.counts.add_value(depth).map_err(|message| SyntaxError { message, position })
    }

    /// Returns the mapping's entries with those of its merge keys in their place; later ones count, as in go-yaml v2.
    fn merge(&self, open: &Open) -> Result<Vec<NodeId>, SyntaxError> {
        let children = &self.pending[open.from..];
        let mut entries = Vec::with_capacity(children.len());
        let mut keys = open.merges.iter().peekable();
        for (index, pair) in children.chunks_exact(2).enumerate() {
            let [key, value] = [pair[0], pair[1]];
            if keys.next_if(|&&merge| merge == index * 2 + 1).is_none() {
                entries.extend([key, value]);
                continue;
            }
            let merged = self.builder.value(value);
            let wrong = || SyntaxError {
                message: "map merge requires map or sequence of maps as the value".to_owned(),
                position: merged.position(),
            };
            match merged.kind() {
                Kind::Object => entries.extend_from_slice(self.builder.children(value)),
                Kind::Array => {
                    for &item in self.builder.children(value).iter().rev() {
                        if self.builder.value(item).kind() != Kind::Object {
                            return Err(wrong());
                        }
                        entries.extend_from_slice(self.builder.children(item));
                    }
                }
                _ => return Err(wrong()),
            }
        }
        Ok(entries)
    }

    fn check_keys(&self, entries: &[NodeId]) -> Result<(), SyntaxError> {
        for pair in entries.chunks_exact(2) {
            let key = self.builder.value(pair[0]);
            if matches!(key.kind(), Kind::Array | Kind::Object | Kind::Null) {
                let message = format!("invalid key: expected a string, found {}", key.kind());
                return Err(SyntaxError { message, position: key.position() });
            }
        }
        Ok(())
    }

    fn alias(&mut self, name: &str, position: Position) -> Result<NodeId, SyntaxError> {
        let (node, size, bytes) = match self.anchors.get(name) {
            Some(&Anchor::Done { node, size, bytes }) => (node, size, bytes),
            Some(Anchor::Open(_)) => {
                let message = format!("anchor `{}` contains itself", excerpt(name));
                return Err(SyntaxError { message, position });
            }
            None => {
                let message = format!("unknown anchor `{}`", excerpt(name));
                return Err(SyntaxError { message, position });
            }
        };
        self.decoded += size + 1;
        self.aliased += size;
        self.bytes += bytes;
        if self.is_bomb() {
            return Err(SyntaxError { message: "document contains excessive aliasing".to_owned(), position });
        }
        let more = Aliased { values: size, bytes };
        self.counts.aliased.add(more).map_err(|message| SyntaxError { message, position })?;
        self.count_value(position)?;
        Ok(self.builder.alias(node, position))
    }

    /// Applies go-yaml's limit: of up to 400 000 decoded nodes 99 % may come from aliases, from 4 000 000 on 10 %.
    #[expect(clippy::cast_precision_loss, reason = "a ratio")]
    fn is_bomb(&self) -> bool {
        const LOW: f64 = 400_000.0;
        const HIGH: f64 = 4_000_000.0;
        let decoded = self.decoded as f64;
        let allowed = if decoded <= LOW {
            0.99
        } else if decoded >= HIGH {
            0.10
        } else {
            0.99 - 0.89 * ((decoded - LOW) / (HIGH - LOW))
        };
        self.aliased > 100 && self.decoded > 1000 && self.aliased as f64 / decoded > allowed
    }

    fn scalar(
        &mut self,
        tag: Option<&str>,
        text: &str,
        plain: bool,
        position: Position,
    ) -> Result<NodeId, SyntaxError> {
        let tag = tag.map(|tag| tag.strip_prefix("tag:yaml.org,2002:").unwrap_or(tag));
        let fail = |kind: &str| SyntaxError {
            message: format!("cannot decode `{}` as !!{kind}", excerpt(text)),
            position,
        };
        let value = match tag {
            None if plain => resolve(text),
            Some("binary") => {
                let compact: String = text.split_whitespace().collect();
                let bytes = base64::engine::general_purpose::STANDARD
                    .decode(compact)
                    .map_err(|_| fail("binary (base64)"))?;
                let decoded = String::from_utf8_lossy(&bytes);
                return Ok(self.builder.scalar(&decoded, Scalar::String, position));
            }
            #[expect(clippy::cast_precision_loss, reason = "what the tag asks for")]
            Some("float") => match resolve(text) {
                Scalar::Int(value) => Scalar::Float(value as f64),
                value @ Scalar::Float(_) => value,
                _ => return Err(fail("float")),
            },
            Some("int") => match resolve(text) {
                value @ (Scalar::Int(_) | Scalar::UInt(_)) => value,
                _ => return Err(fail("int")),
            },
            Some("bool") => match resolve(text) {
                value @ Scalar::Bool(_) => value,
                _ => return Err(fail("bool")),
            },
            Some("null") => match resolve(text) {
                Scalar::Null => Scalar::Null,
                _ => return Err(fail("null")),
            },
            Some(_) | None => Scalar::String,
        };
        if self.at_key()
            && let Some(key) = key_text(value).map_err(|message| SyntaxError { message, position })?
        {
            return Ok(self.builder.scalar(&key, Scalar::String, position));
        }
        if let Scalar::Float(number) = value
            && !number.is_finite()
        {
            let message = format!("invalid number `{text}`: JSON has no such number");
            return Err(SyntaxError { message, position });
        }
        Ok(self.builder.scalar(text, value, position))
    }
}

/// Returns the style of a scalar.
fn written(style: ScalarStyle) -> Option<Style> {
    match style {
        ScalarStyle::Plain => Some(Style::Plain),
        ScalarStyle::SingleQuoted => Some(Style::SingleQuoted),
        ScalarStyle::DoubleQuoted => Some(Style::DoubleQuoted),
        ScalarStyle::Literal => Some(Style::Literal),
        ScalarStyle::Folded => Some(Style::Folded),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::yaml::{Path, decode};

    fn one(text: &str) -> serde_json::Value {
        let parsed = parse(text.as_bytes());
        assert_eq!(parsed.error, None, "{text}");
        assert_eq!(parsed.documents.len(), 1, "{text}");
        parsed.documents[0].root().to_json()
    }

    fn error(text: &str) -> String {
        parse(text.as_bytes()).error.expect("an error").to_string()
    }

    #[test]
    fn scalars_keep_their_place_and_their_type() {
        assert_eq!(
            one("a: on\nb: 'on'\nc: 0777\nd: 1e3\ne: !!str 5\nf: =\ng: [~, 1.5]\n"),
            json!({"a": true, "b": "on", "c": 511, "d": 1000, "e": "5", "f": "=", "g": [null, 1.5]})
        );
        let parsed = parse(b"metadata:\n  name: x\n");
        let name = parsed.documents[0].root().dig(&["metadata", "name"]).unwrap();
        assert_eq!(name.position(), Position { line: 2, column: 9 });
    }

    #[test]
    fn byte_order_marks_carriage_returns_and_empty_documents_are_no_obstacle() {
        assert_eq!(one("\u{feff}a: 1\r\nb: 2\r\n"), json!({"a": 1, "b": 2}));
        assert_eq!(parse(b"---\n# nothing\n---\na: 1\n---\n").documents.len(), 1);
        assert_eq!(one("{\"a\": [1, 2]}"), json!({"a": [1, 2]}));
    }

    #[test]
    fn a_text_may_end_within_a_block_scalar() {
        let cases = [
            ("a: |\n  b", "b"),
            ("a: >\n  b\n  c", "b c"),
            ("a: |+\n  b", "b"),
            ("a: |-\n  b", "b"),
            ("a: |\n  b\n  ", "b\n"),
            ("a: |+\n  b\n\n ", "b\n\n"),
            ("a: |\n  b\n  c ", "b\nc "),
            ("a: |", ""),
            ("\u{feff}a: |\n  b", "b"),
            ("a: |\n  b\r", "b\n"),
            ("a: |\n  b\u{85}", "b\n"),
            ("a: |\n  b\u{2028}", "b\u{2028}"),
        ];
        for (text, expected) in cases {
            assert_eq!(one(text), json!({"a": expected}), "{text:?}");
        }
        assert!(error("a: \"b\\").contains("unexpected end of stream"));
        for end in [&b"|\n  b"[..], b"|\n  b\n \t", b"|2", b">- # c", b"'|", b"\"|\\"] {
            let _ = parse(&[b"a: ", end].concat());
        }
    }

    #[test]
    fn a_tag_needs_a_space_before_a_comma() {
        let expected =
            "did not find expected whitespace or line break while scanning a tag at line 1, column";
        for (text, column) in [
            ("[!,", 2),
            ("[!b::,", 2),
            ("a: [1, !!str,2]\n", 8),
            ("\u{feff}[!<a,b>,c]", 2),
            ("['x!y,', !z,]", 10),
        ] {
            assert_eq!(error(text), format!("{expected} {column}"), "{text}");
        }
        let parsed = parse(b"a: 1\n---\n[!,]\n");
        assert_eq!((parsed.documents.len(), parsed.first), (1, First::Value));
        assert!(parsed.error.is_some());
        let parsed = parse(b"a: 1\n---\n[!, 'b\n");
        assert_eq!((parsed.documents.len(), parsed.first), (1, First::Value));
        for text in [
            "a: Hello !world, and you!, too\n",
            "[x !y, 'z!,', !!str ,b]",
            "a: |\n  !b,\n  !c,\n",
            "a: ^b!:,c",
        ] {
            assert!(parse(text.as_bytes()).error.is_none(), "{text}");
        }
        assert_eq!(one("a: Hello !world, and you!\n"), json!({"a": "Hello !world, and you!"}));
    }

    #[test]
    fn utf_16_is_read_where_a_byte_order_mark_says_so() {
        let text: Vec<u16> = "\u{feff}a: |\n  ä😀".encode_utf16().collect();
        for bytes in [
            text.iter().flat_map(|unit| unit.to_le_bytes()).collect::<Vec<_>>(),
            text.iter().flat_map(|unit| unit.to_be_bytes()).collect(),
        ] {
            let parsed = parse(&bytes);
            assert_eq!(parsed.documents[0].root().to_json(), json!({"a": "ä😀"}));
            assert!(parse(&bytes[..bytes.len() - 1]).error.is_some());
        }
    }

    #[test]
    fn merges_are_flattened_and_the_last_of_equal_keys_counts() {
        assert_eq!(one("x: &x {a: 1, b: 1}\nz:\n  <<: *x\n  b: 2\n")["z"], json!({"a": 1, "b": 2}));
        assert_eq!(one("x: &x {a: 1}\nz:\n  !!merge <<: *x\n")["z"], json!({"a": 1}));
        assert_eq!(one("x: &x {a: 1}\nz:\n  '<<': *x\n")["z"], json!({"<<": {"a": 1}}));
        assert_eq!(one("a: 1\na: 2\n"), json!({"a": 2}));
    }

    #[test]
    fn keys_are_texts_as_json_has_them() {
        assert_eq!(
            one("{+1: a, 0777: b, yes: c, 1e3: d, 1e19: e, .5: f, .inf: g, 1.0: h, '2': i, !!str no: j}"),
            json!({"1": "h", "511": "b", "true": "c", "1000": "d", "1e+19": "e", "0.5": "f", ".inf": "g", "2": "i", "no": "j"})
        );
        assert!(error("9223372036854775808: a\n").starts_with("invalid key `9223372036854775808`"));
    }

    #[test]
    fn a_slash_is_escaped_in_json_only() {
        assert!(error("b: c\na: \"x\\/\"\n").starts_with("found unknown escape character `\\/`"));
        assert_eq!(one("a: '\\/'\nb: \"\\\\/\"\n"), json!({"a": "\\/", "b": "\\/"}));
        assert_eq!(one("{\"a\": \"\\/\"}"), json!({"a": "/"}));
        assert!(error("{a: \"\\/\"}").starts_with("found unknown"));
        assert!(error("\u{feff}a: \"\\/\"").starts_with("found unknown"));
    }

    #[test]
    fn equal_keys_are_decoded_once() {
        let long = (0..40).map(|index| format!("k{index}: {index}")).collect::<Vec<_>>().join("\n") + "\n";
        let parsed = parse(format!("{long}k3: last\n").as_bytes());
        let map: std::collections::BTreeMap<String, serde_json::Value> =
            decode(parsed.documents[0].root(), &Path::ROOT).unwrap().object;
        assert_eq!((map.len(), &map["k3"]), (40, &json!("last")));
    }

    #[test]
    fn what_go_yaml_refuses_is_refused_with_its_place() {
        assert_eq!(error("a: *x\n"), "unknown anchor `x` at line 1, column 4");
        assert_eq!(error("a: &x [*x]\n"), "anchor `x` contains itself at line 1, column 8");
        assert!(error("a:\n\t- b\n").contains("line 2"), "{}", error("a:\n\t- b\n"));
        assert!(error("? [a]\n: b\n").starts_with("invalid key: expected a string, found a list"));
        assert!(error("a: !!int x\n").starts_with("cannot decode `x` as !!int"));
        assert!(parse(b"a: \xff\n").error.is_some());
    }

    #[test]
    fn the_first_document_is_what_stands_before_the_first_separator() {
        let first = |text: &str| parse(text.as_bytes()).first;
        for text in
            ["a: 1\n", "---\na: 1\n", "--- # c\na: 1\n", "a: 1\n---\nb: [\n", "a: 1\n...\n{", "{\"a\": 1} x"]
        {
            assert_eq!(first(text), First::Value, "{text}");
        }
        for text in ["", "# c\n", "# c\n---\na: 1\n", "---\n---\na: 1\n", "null\n"] {
            assert_eq!(first(text), First::Empty, "{text}");
        }
        for text in ["--- a\n", "a: 1\n----\n", "a: [\n---\nb: 1\n", "%YAML 1.1\n---\na: 1\n", "a: .inf\n"] {
            let parsed = parse(text.as_bytes());
            assert_eq!((parsed.first, parsed.error.is_some()), (First::Unreadable, true), "{text}");
        }
    }

    #[test]
    fn bombs_are_refused_without_being_expanded() {
        let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..12 {
            let below = format!("*a{},", level - 1).repeat(10);
            text = [text, format!("a{level}: &a{level} [{below}]\n")].concat();
        }
        assert!(error(&text).starts_with("document contains excessive aliasing"));
        assert!(error(&"[".repeat(100_000)).starts_with("nested deeper than 1000 levels"));
        let text = format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 20), "*a,".repeat(17));
        assert!(error(&text).starts_with("aliases expand to more than 16777216 bytes"));
    }

    #[test]
    fn positions_within_scalars_are_those_of_the_file() {
        // `@` stands where the position is expected, once in each text.
        for marked in [
            "a: |\n  [\n    {\"x\":: @1}\n  ]\n",
            "a: |-\n\n   one two three four five\n     six @seven\n",
            "a:\n- &b !!str |2\n    leading\n   x @y\n",
            "a: \"one two three four five six seven \\n \\t \\\" \\u00e4 @end\"\n",
            "a: \"one two three four\n  five\n\n  six \\\n   seven @eight\"\n",
            "a: 'one two three four it''s\n  five\n\n  six seven @eight'\n",
            "a: one two three four five six\n  seven eight\n\n  nine @ten\n",
            "a: >\n  one two three four five six\n  seven eight\n\n  nine @ten\n",
            "a: >-\n  [{\"one\": \"two three\",\n    \"more\": 1,\n    \"indented\": 2,\n  @\"less\": 3\n",
            "{\"a\": \"one two three four five six @seven\"}",
            "a: |\r\n  one\r\n  two @three\r\n",
        ] {
            let at = marked.find('@').unwrap();
            let text = marked.replace('@', "");
            let parsed = parse(text.as_bytes());
            assert_eq!(parsed.error, None, "{text}");
            let marked = parse(marked.replace('@', "\u{25cc}").as_bytes());
            let value = |parsed: &Parsed| {
                let value = parsed.documents[0].root().get("a").unwrap();
                let value = value.items().next().unwrap_or(value);
                (value.text().to_owned(), value.position_within(0))
            };
            let offset = value(&marked).0.find('\u{25cc}').unwrap();
            let root = parsed.documents[0].root().get("a").unwrap();
            let found = root.items().next().unwrap_or(root).position_within(offset);
            assert_eq!(found, Position::behind(&text.as_bytes()[..at]), "{text}");
        }
    }

    #[test]
    fn a_key_of_a_large_map_is_found() {
        let text: String = (0..1000).map(|index| format!("k{}: {index}\n", index % 700)).collect();
        let parsed = parse(text.as_bytes());
        let root = parsed.documents[0].root();
        let value = |key: &str| root.get(key).and_then(crate::model::yaml::Value::as_i64);
        assert_eq!(
            (value("k0"), value("k299"), value("k300"), value("k699")),
            (Some(700), Some(999), Some(300), Some(699))
        );
        assert_eq!((value("k700"), value(""), value("z")), (None, None, None));
        assert_eq!(root.locate(&Path::ROOT.field("k1")), Position { line: 702, column: 1 });
    }

    #[test]
    fn an_anchor_is_that_of_the_latest_node_of_its_name() {
        assert_eq!(one("a: &x [&x b, *x]\nc: *x\n"), json!({"a": ["b", "b"], "c": "b"}));
        assert_eq!(one("a: &x 1\nb: &x 2\nc: *x\n")["c"], 2);
    }

    #[test]
    fn what_is_not_text_is_named_with_its_offset() {
        for (text, expected) in [
            (&b"a: b\nc: \xff\n"[..], "invalid UTF-8 at byte offset 8 at line 2, column 4"),
            (b"a: \xc3\xa4\n\xc3", "invalid UTF-8 at byte offset 6 at line 2, column 1"),
            (b"a: \0\n", "control character U+0000 at byte offset 3 at line 1, column 4"),
            (b"a: b\n\x1b", "control character U+001B at byte offset 5 at line 2, column 1"),
            (b"a: \xc2\x80", "control character U+0080 at byte offset 3 at line 1, column 4"),
            (
                b"a\0:\0 \0b\0",
                "control character U+0000 at byte offset 1; a file in UTF-16 needs a byte order mark at line 1, column 2",
            ),
            (b"\xff\xfea\0\x00\xd8b\0", "invalid UTF-16 at byte offset 4 at line 1, column 2"),
            (b"\xfe\xff\0a\0", "invalid UTF-16 at byte offset 4 at line 1, column 2"),
        ] {
            let parsed = parse(text);
            assert_eq!(parsed.error.map(|error| error.to_string()).as_deref(), Some(expected));
        }
        assert_eq!(one("\u{ff21}: b\u{85}"), json!({"\u{ff21}": "b"}));
    }

    #[test]
    fn tag_directives_have_limits() {
        let directives: String =
            (0..=MAX_TAG_DIRECTIVES).map(|index| format!("%TAG !t{index}! x\n")).collect();
        let text = format!("a: 1\n...\n{directives}--- b\n");
        let read = documents(text.as_bytes());
        assert_eq!(read.trees.len(), 1);
        let message = read.error.unwrap().message;
        assert!(message.contains("more than 64 %TAG directives"), "{message}");
        let long = format!("%TAG !t! {}\n--- !t!a b\n", "x".repeat(MAX_TAG_DIRECTIVE_BYTES));
        let message = documents(long.as_bytes()).error.unwrap().message;
        assert!(message.contains("%TAG directive of more than 1024 bytes"), "{message}");
        let text = "a: '\n%TAG is text\n'\n";
        assert_eq!(parse(text.as_bytes()).error, None);
    }

    #[test]
    fn values_documents_and_aliases_have_limits() {
        let many = "--- a\n".repeat(MAX_DOCUMENTS + 1);
        assert!(documents(many.as_bytes()).error.unwrap().message.contains("more than 100000 documents"));
        let anchor = format!("a: &a [{}]\n", "x,".repeat(1000));
        let plain = |count: usize| format!("c: [{}]\n", "y,".repeat(count));
        let values = format!("{}{anchor}b: [{}]\n", plain(10_000), "*a,".repeat(300));
        assert!(
            error(&values).starts_with("aliases expand to more than 300000 values"),
            "{}",
            error(&values)
        );
        // Several documents and several texts share the limit.
        let one = format!("{}{anchor}b: [{}]\n", plain(2_000), "*a,".repeat(60));
        let parsed = parse(one.as_bytes());
        assert_eq!(parsed.error, None);
        assert_eq!(parsed.aliased, Aliased { values: 60 * 1001, bytes: 60_000 });
        let several = format!("---\n{one}").repeat(5);
        assert!(documents(several.as_bytes()).error.unwrap().message.starts_with("aliases expand to more"));
        let mut sum = Aliased::default();
        assert!((0..4).all(|_| sum.add(parsed.aliased).is_ok()));
        assert!(sum.add(parsed.aliased).is_err());
    }

    #[test]
    fn values_at_a_great_depth_have_a_limit() {
        let mut counts = Counts::default();
        let most = MAX_DEPTH_SUM / 1000;
        assert!((0..most).all(|_| counts.add_value(1000).is_ok()));
        let message = counts.add_value(1000).unwrap_err();
        assert!(message.starts_with("the depths of all values add up to more than"), "{message}");
    }

    #[test]
    fn many_merges_are_read_in_linear_time() {
        let text = format!("a: &a {{}}\nb:\n{}", "  <<: *a\n".repeat(250_000));
        let started = std::time::Instant::now();
        let _ = parse(text.as_bytes());
        assert!(started.elapsed() < std::time::Duration::from_mins(2), "{:?}", started.elapsed());
    }
}
