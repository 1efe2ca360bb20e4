//! YAML documents as Kubernetes and OLM read them, with the position of every node.
//!
//! A [`Tree`] is one document, a [`Value`] a cheap reference to one of its nodes, a [`Path`] leads from an object's root to
//! a field, and [`decode`] decodes a value into a typed object as Go's JSON decoder does. Text is parsed into trees by
//! [`crate::read::yaml`].

mod decode;
mod emit;
mod fold;
mod path;
mod position;
mod scalar;
mod tree;
mod within;

pub use decode::{DecodeError, Decoded, Unknown, decode, decode_ignoring_case};
pub use emit::{compare_keys, emit, emit_within, is_plain_string, sorted_by_key};
pub use fold::{field, fold, is_same_name, string};
pub use path::{Path, Step};
pub use position::Position;
pub use scalar::{Scalar, is_refused, json_only, resolve, single_text};
pub use tree::{Builder, Kind, NodeId, SyntaxError, Tree, Value};
pub use within::Style;
