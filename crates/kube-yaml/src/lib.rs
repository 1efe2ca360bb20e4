//! YAML documents as Kubernetes and OLM read them, with the position of every node.
//!
//! [`parse`] turns bytes into [`Tree`]s, with libyaml's parser and go-yaml v2's reading of scalars, tags, aliases and merges.
//! A [`Tree`] is one document, a [`Value`] a cheap reference to one of its nodes, a [`Path`] leads from an object's root to
//! a field, and [`decode`] decodes a value into a typed object as Go's JSON decoder does. [`emit`] writes YAML as `sigs.k8s.io/yaml`
//! does, [`go_json`] writes JSON as Go does, and [`json`] parses it within limits. [`spans`] returns where in a text each node is, and [`mod@edit`]
//! changes a text in place.
//!
//! Nothing here does I/O. Every limit of what is read is a public constant; the size of a text is limited by whoever reads it.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod case_insensitive;
mod decode;
pub mod edit;
mod emit;
mod fast_path;
pub mod go_json;
pub mod json;
mod json_text;
mod libyaml;
mod likely_cause;
mod parse;
mod path;
mod position;
pub mod quantity;
mod scalar;
mod scalar_offsets;
pub mod spans;
mod stream;
pub mod text;
mod tree;
mod tree_builder;

pub use case_insensitive::{field, fold, is_same_name, string};
pub use decode::{DecodeError, Decoded, Unknown, decode, decode_ignoring_case};
pub use emit::{emit, emit_within};
pub use parse::{
    Aliased, First, MAX_ALIASED_BYTES, MAX_ALIASED_VALUES, MAX_DEPTH, MAX_DEPTH_SUM, MAX_DOCUMENTS,
    MAX_TAG_DIRECTIVE_BYTES, MAX_TAG_DIRECTIVES, MAX_VALUES, Parsed, parse, readers_agree,
};
pub use path::{Path, Step};
pub use position::Position;
pub use quantity::Quantity;
pub use scalar::{Scalar, is_refused, json_only, resolve, single_text};
pub use scalar_offsets::Style;
pub use tree::{Builder, Kind, NodeId, SyntaxError, Tree, Value};
