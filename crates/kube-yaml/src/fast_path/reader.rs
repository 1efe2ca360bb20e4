//! The state of the reader.

use super::lines::{Lines, Unusual, Usual};
use crate::tree_builder::Document;

/// The maximum depth of usual collections: each level takes a few levels of calls.
const MAX_USUAL_DEPTH: usize = 100;
/// The maximum number of bytes of a usual key. libyaml-safer's limit is 1024 bytes up to the colon (`stale_simple_keys`), and C libyaml's
/// as many characters: what is near either is left to libyaml.
pub(crate) const MAX_KEY: usize = 1000;

/// What has been read, and where the reader is.
pub(crate) struct Reader<'t, 'd> {
    pub(crate) lines: Lines<'t>,
    pub(crate) document: Document<'d>,
    depth: usize,
    /// The value of a scalar that is not the same as in the text.
    pub(crate) buffer: String,
}

impl<'t, 'd> Reader<'t, 'd> {
    /// Returns a reader of a document that begins here.
    pub(crate) fn new(lines: Lines<'t>, document: Document<'d>) -> Self {
        Self { lines, document, depth: 0, buffer: String::new() }
    }

    /// Returns whether a quoted scalar is here.
    pub(crate) fn is_quote(&self) -> bool {
        matches!(self.lines.byte(self.lines.at), Some(b'"' | b'\''))
    }

    /// Begins a collection here.
    pub(crate) fn enter_collection(&mut self, mapping: bool) -> Usual<()> {
        self.depth += 1;
        if self.depth > MAX_USUAL_DEPTH {
            return Err(Unusual);
        }
        let place = self.lines.position(self.lines.at);
        Ok(self.document.begin(mapping, None, place)?)
    }

    /// Ends the innermost collection.
    pub(crate) fn leave_collection(&mut self) -> Usual<()> {
        self.depth -= 1;
        let node = self.document.end()?;
        self.document.add(node);
        Ok(())
    }
}
