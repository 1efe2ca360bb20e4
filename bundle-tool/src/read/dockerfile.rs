//! Reads the Dockerfile that builds a bundle's image.

use std::path::{Path, PathBuf};

use super::overlay::Overlay;
use crate::model::dockerfile::{BESIDE, NAMES, copies_from};
use crate::model::{Content, File};

/// The maximum size of a Dockerfile in bytes.
const MAX_SIZE: u64 = 1 << 20;

/// Returns the Dockerfile in the directory of a bundle, or the one beside it that copies files from this directory.
///
/// One that cannot be read is left out: other findings are about the bundle itself.
#[must_use]
pub fn of(directory: &Path, overlay: &Overlay) -> Option<File> {
    let read = |name: &str| parse(name, overlay.read(&directory.join(name), MAX_SIZE).ok()?);
    NAMES.iter().find_map(|name| read(name)).or_else(|| {
        // The path may be `.`, or a link.
        let is_itself = directory.file_name().is_some() && !directory.is_symlink();
        let directory = if is_itself { directory.to_owned() } else { directory.canonicalize().ok()? };
        let name = directory.file_name()?.to_str()?;
        let bytes = overlay.read(&directory.parent()?.join(NAMES[0]), MAX_SIZE).ok()?;
        let file = parse(BESIDE, bytes)?;
        std::str::from_utf8(&file.bytes).is_ok_and(|text| copies_from(text, name)).then_some(file)
    })
}

/// Returns the path of the Dockerfile beside the directory of a bundle, whether it exists or not.
#[must_use]
pub fn beside(directory: &Path) -> Option<PathBuf> {
    Some(directory.canonicalize().ok()?.parent()?.join(NAMES[0]))
}

/// Returns a Dockerfile from its bytes; nothing if they are not text.
#[must_use]
pub fn parse(path: &str, bytes: Vec<u8>) -> Option<File> {
    std::str::from_utf8(&bytes).ok()?;
    Some(File { path: path.to_owned(), size: bytes.len() as u64, content: Content::Other, bytes })
}
