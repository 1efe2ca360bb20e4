//! Finds the Dockerfile that builds a bundle's image.

use std::path::{Path, PathBuf};

use super::directory::Directory;
use super::overlay::Overlay;
use crate::dockerfile::{BESIDE, NAMES, copied, copies_from, source_path};
use crate::read::Unreadable;
use crate::read::dockerfile::parse;
use crate::{Content, File};

/// The maximum size of a Dockerfile in bytes.
const MAX_SIZE: u64 = 1 << 20;

/// Returns the Dockerfile in the directory of a bundle, or the one beside it that copies files from this directory.
///
/// One that cannot be read is omitted, because other findings are about the bundle itself; a link out of the directory that it is
/// in is an unreadable file.
#[must_use]
pub fn find(directory: &Path, overlay: &Overlay) -> Option<File> {
    NAMES.iter().find_map(|name| read(directory, name, name, overlay)).or_else(|| {
        // The path may be `.`, or a link.
        let is_itself = directory.file_name().is_some() && !directory.is_symlink();
        let directory = if is_itself { directory.to_owned() } else { directory.canonicalize().ok()? };
        let name = directory.file_name()?.to_str()?;
        let parent = directory.parent()?;
        let file = read(parent, NAMES[0], BESIDE, overlay)?;
        let is_of_bundle = match file.content {
            Content::Unreadable(_) => true,
            _ => std::str::from_utf8(&file.bytes)
                .is_ok_and(|text| copies_from(text, name) || copies_missing(text, parent)),
        };
        is_of_bundle.then_some(file)
    })
}

/// Returns whether a Dockerfile copies only `manifests` and `metadata`, and one is not beside it: it is meant to be used in the
/// directory of a bundle.
fn copies_missing(text: &str, directory: &Path) -> bool {
    let Some(copied) = copied(text) else { return false };
    let sources = || copied.iter().filter(|one| one.is_from_context).flat_map(|one| &one.sources);
    let is_bundle = |source: &str| ["manifests", "metadata"].contains(&source_path(source));
    sources().all(|source| is_bundle(source))
        && sources().any(|source| !directory.join(source_path(source)).exists())
}

fn read(directory: &Path, name: &str, shown: &str, overlay: &Overlay) -> Option<File> {
    // The directory of a path without one is the current directory.
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    match overlay.read(&Directory::open(directory).ok()?, name, MAX_SIZE) {
        Ok(bytes) => parse(shown, bytes),
        Err(error @ Unreadable::LeavesDirectory) => Some(super::unreadable(shown, &error)),
        Err(_) => None,
    }
}

/// Returns the path of the Dockerfile beside the directory of a bundle, whether it exists or not.
#[must_use]
pub fn path_for(directory: &Path) -> Option<PathBuf> {
    Some(directory.canonicalize().ok()?.parent()?.join(NAMES[0]))
}
