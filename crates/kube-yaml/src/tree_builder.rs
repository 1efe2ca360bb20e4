//! Documents that are being read: go-yaml v2's reading of scalars, tags, aliases and merges, within limits.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use base64::Engine as _;

use crate::text::excerpt;
use crate::{Builder, Kind, NodeId, Position, Scalar, Style, SyntaxError, Tree, resolve, single_text};

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

/// The documents of a text that could be read.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    pub(crate) trees: Vec<Tree>,
    pub(crate) error: Option<SyntaxError>,
    pub(crate) counts: Counts,
}

/// What counts against the limits of a text.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    values: u64,
    depths: u64,
    pub(crate) aliased: Aliased,
}

impl Counts {
    pub(crate) fn add_value(&mut self, depth: u64) -> Result<(), String> {
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

/// A scalar as it is written.
pub(crate) struct Text<'v> {
    pub(crate) value: &'v str,
    /// Whether its value is resolved: without quotes and tag.
    pub(crate) plain: bool,
    pub(crate) style: Option<Style>,
    pub(crate) position: Position,
    /// Its bytes in the text.
    pub(crate) range: Range<usize>,
    /// Whether it has more than one line.
    pub(crate) has_lines: bool,
}

/// A document that is being read.
pub(crate) struct Document<'t> {
    /// The text, without a byte order mark.
    text: &'t [u8],
    /// The same, kept where a tree needs it.
    source: &'t OnceCell<Arc<str>>,
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
    root: Option<NodeId>,
}

impl<'t> Document<'t> {
    /// Returns an empty document of a text, which may have a certain number of bytes of it.
    pub(crate) fn new(
        text: &'t [u8],
        source: &'t OnceCell<Arc<str>>,
        capacity: usize,
        counts: &'t mut Counts,
    ) -> Self {
        Self {
            text,
            source,
            builder: Builder::with_capacity(capacity),
            open: Vec::new(),
            pending: Vec::new(),
            anchors: HashMap::new(),
            decoded: 0,
            aliased: 0,
            bytes: 0,
            counts,
            root: None,
        }
    }

    /// Adds a node to the innermost open collection, or makes it the document's root.
    pub(crate) fn add(&mut self, node: NodeId) {
        if self.open.is_empty() {
            self.root = Some(node);
        } else {
            self.pending.push(node);
        }
    }

    /// Adds a scalar without tag and anchor.
    pub(crate) fn add_text(&mut self, text: &Text<'_>) -> Result<(), SyntaxError> {
        let node = self.scalar_node(None, None, text)?;
        self.add(node);
        Ok(())
    }

    /// Returns the node of a scalar.
    pub(crate) fn scalar_node(
        &mut self,
        tag: Option<&str>,
        anchor: Option<String>,
        text: &Text<'_>,
    ) -> Result<NodeId, SyntaxError> {
        let merge = text.value == "<<" && tag.map_or(text.plain, |tag| tag == MERGE_TAG);
        let node = self.scalar(tag, text.value, text.plain, text.position)?;
        self.count(text.position)?;
        if let Some(style) = text.style
            && (text.has_lines || text.value.len() >= MIN_LOCATED)
        {
            self.builder.written(node, style, text.range.start, text.range.end);
        }
        let bytes = text.value.len() as u64;
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
        Ok(node)
    }

    /// Returns the document, whose end has been read.
    pub(crate) fn finish(mut self) -> Tree {
        if self.builder.needs_source() {
            // The text was checked to be UTF-8.
            let source = self.source.get_or_init(|| str::from_utf8(self.text).unwrap_or_default().into());
            self.builder.set_source(source.clone());
        }
        self.builder.finish(self.root)
    }

    /// Returns whether the next node is the key of a map.
    fn at_key(&self) -> bool {
        let is_even = |open: &Open| (self.pending.len() - open.from).is_multiple_of(2);
        self.open.last().is_some_and(|open| open.mapping && is_even(open))
    }

    /// Opens a collection.
    pub(crate) fn begin(
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

    /// Closes the innermost collection; returns its node.
    pub(crate) fn end(&mut self) -> Result<NodeId, SyntaxError> {
        let Some(open) = self.open.pop() else {
            return Err(SyntaxError {
                message: "unexpected end of a collection".to_owned(),
                position: Position::START,
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

    /// Returns the node of an alias.
    pub(crate) fn alias(&mut self, name: &str, position: Position) -> Result<NodeId, SyntaxError> {
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
