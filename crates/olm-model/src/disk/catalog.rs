//! Lists the directory of a file-based catalog.
//!
//! Links to files are followed within the catalog; links to directories, and links out of it, are errors.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::directory::Directory;
use super::error::WalkError;
use super::file;
use super::format::{self, FormatError};
use super::overlay::Overlay;
use super::walk::{Kind, Options};
use crate::catalog::Catalog;
use crate::read::Unreadable;
use crate::read::catalog::{CatalogError, Content, Ignore, Limits, Open, Source, blobs, is_ignore_file};

/// The maximum size of an `.indexignore` file in bytes.
const MAX_IGNORE_SIZE: u64 = 1 << 20;

/// A file of a catalog's directory.
#[derive(Debug)]
struct FileBelow {
    directory: Arc<Directory>,
    name: PathBuf,
}

impl Open for FileBelow {
    fn open(&self) -> Result<Box<dyn Read + Send>, Unreadable> {
        Ok(Box::new(self.directory.file(&self.name)?.0))
    }
}

/// A catalog in one file.
#[derive(Debug)]
struct SingleFile(PathBuf);

impl Open for SingleFile {
    fn open(&self) -> Result<Box<dyn Read + Send>, Unreadable> {
        Ok(Box::new(file::open_in_project(&self.0)?.0))
    }
}

impl From<WalkError> for CatalogError {
    fn from(error: WalkError) -> Self {
        Self::List(Box::new(error))
    }
}

impl From<FormatError> for CatalogError {
    fn from(error: FormatError) -> Self {
        Self::List(Box::new(error))
    }
}

/// Lists the files of the catalog at `root`, sorted by name; `root` may also be a single file.
///
/// # Errors
/// The path is a bundle or an image, the directory cannot be listed, or an `.indexignore` file cannot be read.
pub fn sources(root: &Path) -> Result<Vec<Source>, CatalogError> {
    sources_with(root, &Overlay::default())
}

/// Lists the files of the catalog at `root`, with texts that stand for some of them.
///
/// # Errors
/// As for [`sources`].
pub fn sources_with(root: &Path, overlay: &Overlay) -> Result<Vec<Source>, CatalogError> {
    if root.is_file() {
        format::require_catalog(root)?;
        let name = root.file_name().unwrap_or_default().to_string_lossy();
        let content = Content::Stream(Box::new(SingleFile(root.to_owned())));
        return Ok(vec![Source { name: name.as_ref().into(), content }]);
    }
    let directory = Arc::new(Directory::open(root)?);
    format::require_catalog(root)?;
    let entries = overlay.walk(&directory, Options::default())?;
    let mut ignore = Ignore::default();
    for entry in entries.iter().filter(|entry| is_ignore_file(&entry.name)) {
        let unreadable = |reason| CatalogError::Unreadable { file: entry.name.clone(), reason };
        match entry.kind {
            Kind::File(_) => {
                let text = overlay.read(&directory, &entry.below, MAX_IGNORE_SIZE).map_err(unreadable)?;
                let failed = |reason| CatalogError::Ignore { file: entry.name.clone(), reason };
                ignore.add(&entry.name, &text).map_err(failed)?;
            }
            Kind::Unreadable(Unreadable::LeavesDirectory) => {
                return Err(unreadable(Unreadable::LeavesDirectory));
            }
            _ => {}
        }
    }
    let mut sources = Vec::new();
    for entry in entries {
        let name = entry.below.file_name().unwrap_or_default();
        if matches!(entry.kind, Kind::Directory)
            || is_ignore_file(&entry.name)
            || atomic_files::is_temporary(name)
        {
            continue;
        }
        let is_ignored = || ignore.is_ignored(&entry.name);
        let content = match entry.kind {
            Kind::File(_) | Kind::Unreadable(Unreadable::LeavesDirectory) if is_ignored() => continue,
            // A directory that cannot be listed is not a file that a pattern could name.
            Kind::Unreadable(reason) => Content::Unreadable(reason),
            _ => match overlay.get(&directory.path().join(&entry.below)) {
                Some(text) => Content::Bytes(text.as_bytes().to_vec()),
                None => {
                    Content::Stream(Box::new(FileBelow { directory: directory.clone(), name: entry.below }))
                }
            },
        };
        sources.push(Source { name: entry.name.into(), content });
    }
    Ok(sources)
}

/// Reads all blobs below a directory, or those of one file.
///
/// # Errors
/// Something cannot be read, does not parse, is not a blob, or exceeds a limit.
pub fn read(root: &Path) -> Result<Catalog, CatalogError> {
    blobs(sources(root)?, Limits::default())
}
