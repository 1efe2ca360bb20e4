//! Text into [`Tree`]s, with libyaml's parser and go-yaml v2's reading of scalars, tags, aliases and merges.
//!
//! Kubernetes and OLM read YAML through go-yaml v2, a port of libyaml: what that port refuses is refused here with
//! the same reason, and nothing else, but for what no object can be: [`MAX_DEPTH`], [`MAX_VALUES`],
//! [`MAX_ALIASED_BYTES`].

use std::collections::HashMap;

use base64::Engine as _;
use libyaml_safer::{Event, EventData, Mark, Parser, ScalarStyle};

use super::json;
use super::libyaml::{BYTE_ORDER_MARK, START, ended, index, position, syntax_error, tag_before_comma, utf8};
use crate::model::First;
use crate::model::yaml::{Builder, Kind, NodeId, Position, Scalar, SyntaxError, Tree, resolve, single_text};

/// How deep a document may be nested. go-yaml's own limit is 10 000; no manifest comes near either.
pub const MAX_DEPTH: usize = 1000;

/// How many values a document may hold. Written as JSON, as they are sent to the API server, so many take more than
/// the 3 MiB that it reads.
pub const MAX_VALUES: u64 = 2_000_000;

/// How many bytes the aliases of a document may stand for: far more than the API server reads, and less than what
/// would exhaust a machine's memory.
pub const MAX_ALIASED_BYTES: u64 = 16 << 20;

/// What a text held: the documents that could be read and, where reading stopped early, why.
#[derive(Debug)]
pub struct Parsed {
    /// The documents in the text's order.
    pub documents: Vec<Tree>,
    /// Why the rest could not be read.
    pub error: Option<SyntaxError>,
    /// What Kubernetes' readers find who stop at the first separator.
    pub first: First,
    /// Where a text in JSON has a string that readers of YAML refuse.
    pub json_only: Option<Position>,
}

/// Reads all documents of a text. Empty documents (nothing, or comments alone) are left out.
#[must_use]
pub fn parse(text: &[u8]) -> Parsed {
    let text = match utf8(text) {
        Ok(text) => text,
        Err(wrong) => {
            return Parsed {
                documents: Vec::new(),
                error: Some(wrong),
                first: First::Unreadable,
                json_only: None,
            };
        }
    };
    let json_only = json::not_yaml(&text);
    let text = &*json::for_yaml(&text);
    let (documents, error) = documents(text);
    match first_chunk(text) {
        Err(wrong) => {
            Parsed { documents: Vec::new(), error: Some(wrong), first: First::Unreadable, json_only }
        }
        Ok(end) if end == text.len() => {
            let first = first(&documents, error.as_ref());
            Parsed { documents, error, first, json_only }
        }
        Ok(end) => {
            let (head, wrong) = self::documents(&text[..end]);
            let first = first(&head, wrong.as_ref());
            let error = if first == First::Unreadable { wrong } else { error };
            Parsed { documents, error, first, json_only }
        }
    }
}

fn documents(text: &[u8]) -> (Vec<Tree>, Option<SyntaxError>) {
    match tag_before_comma(text) {
        Some((end, wrong)) => (read_documents(&text[..end]).0, Some(wrong)),
        None => read_documents(text),
    }
}

fn read_documents(text: &[u8]) -> (Vec<Tree>, Option<SyntaxError>) {
    let mut documents = Vec::new();
    let ended = ended(text);
    let mut input = &*ended;
    let mut parser = Parser::new();
    parser.set_input_string(&mut input);
    let error = read_stream(&mut parser, text, &mut documents).err();
    (documents, error)
}

fn first(documents: &[Tree], error: Option<&SyntaxError>) -> First {
    // Once the first document has ended, readers do not look at what comes behind it.
    match (documents.is_empty(), error) {
        (false, _) => First::Value,
        (true, Some(_)) => First::Unreadable,
        (true, None) => First::Empty,
    }
}

/// Where the first separator is: a line that begins with `---`, but for the very first line. Kubernetes cuts texts
/// there before it looks for YAML in them, and takes nothing but a comment behind the dashes.
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
        let message = "only a comment may stand behind '---', which separates documents".to_owned();
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

type Events<'r, 'b> = Parser<&'r mut &'b [u8]>;

fn read_stream(
    parser: &mut Events<'_, '_>,
    text: &[u8],
    documents: &mut Vec<Tree>,
) -> Result<(), SyntaxError> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let slashes = text.windows(2).any(|pair| pair == b"\\/") && !json::is_json(text);
    let slashes = slashes.then_some(text);
    loop {
        let event = next(parser)?;
        match event.data {
            EventData::StreamEnd => return Ok(()),
            EventData::DocumentStart { .. } => {
                let capacity = if documents.is_empty() { text.len() } else { 0 };
                let tree = Document::new(capacity, slashes, text.len()).read(parser)?;
                if !tree.root().is_null() {
                    documents.push(tree);
                }
            }
            _ => {}
        }
    }
}

fn next(parser: &mut Events<'_, '_>) -> Result<Event, SyntaxError> {
    parser.parse().map_err(|error| syntax_error(&error))
}

/// What JSON has for a key that is no text; nothing where it is one, or null, which no map has as a key.
///
/// # Errors
/// Integers beyond those with a sign are no keys.
///
/// Source: `convertToJSONableObject` of sigs.k8s.io/yaml.
fn key_text(key: Scalar) -> Result<Option<String>, String> {
    Ok(match key {
        Scalar::Null | Scalar::String => None,
        Scalar::Bool(value) => Some(value.to_string()),
        Scalar::Int(value) => Some(value.to_string()),
        Scalar::UInt(value) => return Err(format!("{value} cannot be the key of a map")),
        Scalar::Float(value) if value.is_nan() => Some(".nan".to_owned()),
        Scalar::Float(f64::INFINITY) => Some(".inf".to_owned()),
        Scalar::Float(f64::NEG_INFINITY) => Some("-.inf".to_owned()),
        Scalar::Float(value) => Some(single_text(value)),
    })
}

const MERGE_TAG: &str = "tag:yaml.org,2002:merge";

/// A collection whose end has not come yet.
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
    /// Which values of the mapping stand behind a merge key, as indices among its children.
    merges: Vec<usize>,
}

struct Anchor {
    node: NodeId,
    /// How many nodes go-yaml would decode for the alias.
    size: u64,
    /// How many bytes of text they have.
    bytes: u64,
}

struct Document<'t> {
    /// The text, where escaped slashes are to be looked for.
    slashes: Option<&'t [u8]>,
    builder: Builder,
    open: Vec<Open>,
    /// The children of all open collections, those of the innermost last.
    pending: Vec<NodeId>,
    anchors: HashMap<String, Anchor>,
    decoded: u64,
    aliased: u64,
    /// Bytes of text, with those of aliases.
    bytes: u64,
    aliased_bytes: u64,
    /// Values that are written, rather than aliases.
    values: u64,
    /// How long the text is, without what [`ended`] put behind it.
    length: usize,
}

impl<'t> Document<'t> {
    fn new(bytes: usize, slashes: Option<&'t [u8]>, length: usize) -> Self {
        Self {
            slashes,
            builder: Builder::with_capacity(bytes),
            open: Vec::new(),
            pending: Vec::new(),
            anchors: HashMap::new(),
            decoded: 0,
            aliased: 0,
            bytes: 0,
            aliased_bytes: 0,
            values: 0,
            length,
        }
    }

    fn read(mut self, parser: &mut Events<'_, '_>) -> Result<Tree, SyntaxError> {
        let mut root = None;
        loop {
            let event = next(parser)?;
            let place = position(event.start_mark);
            let node = match event.data {
                EventData::DocumentEnd { .. } | EventData::StreamEnd => return Ok(self.builder.finish(root)),
                EventData::Scalar { anchor, tag, mut value, plain_implicit, style, .. } => {
                    if style == ScalarStyle::DoubleQuoted {
                        self.check_escapes(event.start_mark, event.end_mark)?;
                    }
                    let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                    if block && index(event.end_mark) > self.length && value.ends_with('\n') {
                        value.pop();
                    }
                    let merge =
                        value == "<<" && tag.as_deref().map_or(plain_implicit, |tag| tag == MERGE_TAG);
                    let node = self.scalar(tag.as_deref(), &value, plain_implicit, place)?;
                    self.count(place)?;
                    self.bytes += value.len() as u64;
                    self.anchor(anchor, node, 1, value.len() as u64);
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

    /// Whether what comes next is the key of a map.
    fn at_key(&self) -> bool {
        let is_even = |open: &Open| (self.pending.len() - open.from).is_multiple_of(2);
        self.open.last().is_some_and(|open| open.mapping && is_even(open))
    }

    /// Refuses the escape of a slash, which JSON and libyaml have, and go-yaml v2 has not.
    fn check_escapes(&self, start: Mark, end: Mark) -> Result<(), SyntaxError> {
        let Some(text) = self.slashes else { return Ok(()) };
        let mut written = text.get(index(start)..index(end)).unwrap_or_default().iter();
        while let Some(byte) = written.next() {
            if *byte == b'\\' && written.next() == Some(&b'/') {
                let message = "found unknown escape character '\\/'".to_owned();
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
        let size = self.decoded - open.decoded_before + 1;
        self.anchor(open.anchor, node, size, self.bytes - open.bytes_before);
        Ok(node)
    }

    /// Counts one more value.
    fn count(&mut self, position: Position) -> Result<(), SyntaxError> {
        self.decoded += 1;
        self.values += 1;
        if self.values > MAX_VALUES {
            let message =
                format!("more than {MAX_VALUES} values: the API server reads no object of this size");
            return Err(SyntaxError { message, position });
        }
        Ok(())
    }

    /// The mapping's entries with those of its merge keys in their place; later ones count, as in go-yaml v2.
    fn merge(&self, open: &Open) -> Result<Vec<NodeId>, SyntaxError> {
        let children = &self.pending[open.from..];
        let mut entries = Vec::with_capacity(children.len());
        for (index, pair) in children.chunks_exact(2).enumerate() {
            let [key, value] = [pair[0], pair[1]];
            if !open.merges.contains(&(index * 2 + 1)) {
                entries.extend([key, value]);
                continue;
            }
            let merged = self.builder.value(value);
            let wrong = || SyntaxError {
                message: "map merge requires map or sequence of maps as the value".to_owned(),
                position: merged.position(),
            };
            match merged.kind() {
                Kind::Object => entries.extend(self.builder.children(value)),
                Kind::Array => {
                    for item in self.builder.children(value).into_iter().rev() {
                        if self.builder.value(item).kind() != Kind::Object {
                            return Err(wrong());
                        }
                        entries.extend(self.builder.children(item));
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
                let message = format!("{} cannot be the key of a map", key.kind());
                return Err(SyntaxError { message, position: key.position() });
            }
        }
        Ok(())
    }

    fn anchor(&mut self, name: Option<String>, node: NodeId, size: u64, bytes: u64) {
        if let Some(name) = name {
            self.anchors.insert(name, Anchor { node, size, bytes });
        }
    }

    fn alias(&mut self, name: &str, position: Position) -> Result<NodeId, SyntaxError> {
        if self.open.iter().any(|open| open.anchor.as_deref() == Some(name)) {
            return Err(SyntaxError { message: format!("anchor '{name}' value contains itself"), position });
        }
        let Some(&Anchor { node, size, bytes }) = self.anchors.get(name) else {
            return Err(SyntaxError { message: format!("unknown anchor '{name}' referenced"), position });
        };
        self.decoded += size + 1;
        self.aliased += size;
        self.bytes += bytes;
        self.aliased_bytes += bytes;
        if self.aliased_bytes > MAX_ALIASED_BYTES {
            let message = format!("the aliases stand for more than {MAX_ALIASED_BYTES} bytes");
            return Err(SyntaxError { message, position });
        }
        if self.is_bomb() {
            return Err(SyntaxError { message: "document contains excessive aliasing".to_owned(), position });
        }
        Ok(self.builder.alias(node, position))
    }

    /// go-yaml's limit: up to 400 000 decoded nodes 99 % of them may come from aliases, from 4 000 000 on 10 %.
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
        let fail =
            |kind: &str| SyntaxError { message: format!("cannot decode '{text}' as !!{kind}"), position };
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
            let message = format!("'{text}' cannot be written as JSON, which has no such number");
            return Err(SyntaxError { message, position });
        }
        Ok(self.builder.scalar(text, value, position))
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
        assert!(error("9223372036854775808: a\n").starts_with("9223372036854775808 cannot be the key"));
    }

    #[test]
    fn a_slash_is_escaped_in_json_only() {
        assert!(error("b: c\na: \"x\\/\"\n").starts_with("found unknown escape character '\\/'"));
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
        assert_eq!(error("a: *x\n"), "unknown anchor 'x' referenced at line 1, column 4");
        assert_eq!(error("a: &x [*x]\n"), "anchor 'x' value contains itself at line 1, column 8");
        assert!(error("a:\n\t- b\n").contains("line 2"), "{}", error("a:\n\t- b\n"));
        assert!(error("? [a]\n: b\n").starts_with("a list cannot be the key of a map"));
        assert!(error("a: !!int x\n").starts_with("cannot decode 'x' as !!int"));
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
        assert!(error(&text).starts_with("the aliases stand for more than 16777216 bytes"));
    }
}
