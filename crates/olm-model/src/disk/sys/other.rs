//! Windows and other systems, with the standard library only.
//!
//! A path is resolved first, and opened if the result is beneath the directory. Unlike on Unix, a directory that somebody replaces
//! with a link between the two is followed.

use std::fs::{self, File, FileType, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use super::{EntryType, Listed};
use crate::read::Unreadable;

/// What identifies a directory: its path without links.
pub(crate) type Id = PathBuf;

/// A directory.
#[derive(Debug)]
pub(crate) struct Root {
    /// The path without links.
    real: PathBuf,
}

impl Root {
    /// Opens the directory at a path without links.
    #[expect(clippy::unnecessary_wraps, reason = "other systems report errors")]
    pub(crate) fn open(real: PathBuf) -> io::Result<Self> {
        Ok(Self { real })
    }

    /// Opens the directory `name` as one of its own.
    pub(crate) fn below(&self, name: &Path) -> Result<Self, Unreadable> {
        let real = self.resolve(name)?;
        if !fs::metadata(&real)?.is_dir() {
            return Err(io::Error::from(io::ErrorKind::NotADirectory).into());
        }
        Ok(Self { real })
    }

    /// Returns what `name` is, through links.
    pub(crate) fn metadata(&self, name: &Path) -> Result<Metadata, Unreadable> {
        Ok(fs::symlink_metadata(self.resolve(name)?)?)
    }

    /// Opens `name`, through links, for reading.
    pub(crate) fn file(&self, name: &Path) -> Result<File, Unreadable> {
        Ok(open_file(&self.resolve(name)?)?)
    }

    /// Lists the directory `name`, through links, up to `limit` entries and one; with what identifies the directory.
    pub(crate) fn list(&self, name: &Path, limit: usize) -> Result<(Id, Vec<Listed>), Unreadable> {
        let real = self.resolve(name)?;
        let mut listed = Vec::new();
        for entry in fs::read_dir(&real)? {
            let entry = entry?;
            // That of the entry itself.
            let kind = entry.metadata().map(|metadata| match metadata.file_type() {
                of if of.is_file() => EntryType::File(metadata.len()),
                of if of.is_dir() => EntryType::Directory,
                of if of.is_symlink() => EntryType::Link,
                of => EntryType::Other(special_name(of)),
            });
            listed.push(Listed { name: entry.file_name(), kind });
            if listed.len() > limit {
                break;
            }
        }
        Ok((real, listed))
    }

    /// Returns the path without links of `name`, which is beneath the directory.
    fn resolve(&self, name: &Path) -> Result<PathBuf, Unreadable> {
        let real = fs::canonicalize(self.real.join(name))?;
        if real.starts_with(&self.real) { Ok(real) } else { Err(Unreadable::LeavesDirectory) }
    }
}

/// Opens a file for reading.
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Returns what a file is that is none of a regular file, a directory and a link.
pub(crate) fn special_name(_file_type: FileType) -> &'static str {
    "a special file"
}
