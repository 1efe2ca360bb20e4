//! From the documents that a catalog's files contain to its blobs: what [`crate::read`] read, decoded by [`crate::catalog`].

use crate::catalog::validate::{self, Decoded, Input};
use crate::read::catalog::Document;
use crate::read::yaml;

/// Decodes a document of a catalog.
#[must_use]
pub fn decode(document: &Document) -> Decoded {
    let (root, line, is_rest_ignored) = match &document.content {
        Ok(parsed) => (Ok(parsed.tree.root()), parsed.line, parsed.is_rest_ignored),
        Err(error) => (Err(error.clone()), 0, false),
    };
    let check_yaml = |text: &[u8]| {
        let parsed = yaml::parse(text);
        match parsed.error {
            Some(error) if parsed.documents.is_empty() => Err(error),
            _ => Ok(()),
        }
    };
    validate::decode(&Input { file: document.file.clone(), line, root, is_rest_ignored, check_yaml })
}
