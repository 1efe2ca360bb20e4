//! Reads the YAML that encoders write and people usually do, several times as fast as libyaml's scanner.
//!
//! libyaml decides what YAML is: whatever this reader does not know for certain, and whatever may be wrong, it leaves to libyaml
//! ([`read`] returns `None`). It knows block and flow collections, scalars in all five styles, comments and `---`. It leaves, among others:
//! anchors, aliases, merges, tags, directives, `...`, `? ` keys, scalars as documents, anything behind `---` or `|` but a line break, comments and
//! trailing commas in flow collections, tabs outside quotes, comments and block scalars, line breaks other than `\n`, and what is very long or deep.
//!
//! "Source:" names functions of libyaml-safer's `scanner.rs`.

mod block;
mod flow;
mod lines;
mod reader;
mod scalar;
#[cfg(test)]
mod tests;

use std::cell::OnceCell;

use self::lines::Lines;
use self::reader::Reader;
use crate::tree_builder::{Document, Documents, MAX_DOCUMENTS};

/// Returns the documents of a text without a byte order mark, if all of it is usual.
pub(crate) fn read(text: &[u8]) -> Option<Documents> {
    let text = std::str::from_utf8(text).ok()?;
    let others = ['\u{85}', '\u{2028}', '\u{2029}', '\u{feff}'];
    if memchr::memchr(b'\r', text.as_bytes()).is_some() || (!text.is_ascii() && text.contains(others)) {
        return None;
    }
    let mut read = Documents::default();
    let source = OnceCell::new();
    // Mostly, the first document is the only one.
    let mut capacity = text.len();
    let mut lines = Lines::new(text).ok()?;
    loop {
        if lines.is_document_start() {
            lines.at += "---".len();
            lines.finish_line().ok()?;
        } else if lines.indentation.is_none() {
            return Some(read);
        }
        let document =
            Document::new(text.as_bytes(), &source, std::mem::take(&mut capacity), &mut read.counts);
        let mut reader = Reader::new(lines, document);
        reader.root().ok()?;
        lines = reader.lines;
        let tree = reader.document.finish();
        if !tree.root().is_null() {
            if read.trees.len() >= MAX_DOCUMENTS {
                return None;
            }
            read.trees.push(tree);
        }
        if !lines.is_document_start() && lines.indentation.is_some() {
            return None;
        }
    }
}
