//! Reads a Dockerfile that builds a bundle's image.

use crate::{Content, File};

/// Returns a Dockerfile from its bytes; nothing if they are not text.
#[must_use]
pub fn parse(path: &str, bytes: Vec<u8>) -> Option<File> {
    std::str::from_utf8(&bytes).ok()?;
    Some(File { path: path.to_owned(), size: bytes.len() as u64, content: Content::Other, bytes })
}
