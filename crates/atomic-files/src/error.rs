//! The one error of writing: what was tried, on which path, and why the system refused.

use std::io;
use std::path::{Path, PathBuf};

/// A file or folder could not be written; everything is as it was before.
#[derive(Debug, thiserror::Error)]
#[error("failed to {action} {}{}", .path.display(), hint(.source))]
pub struct Error {
    action: &'static str,
    path: PathBuf,
    source: io::Error,
}

impl Error {
    /// Returns the error of an `action` (a verb) on `path` that failed with `source`.
    #[must_use]
    pub fn new(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self { action, path: path.to_owned(), source }
    }

    /// The path that could not be written.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The kind of the system's refusal.
    #[must_use]
    pub fn kind(&self) -> io::ErrorKind {
        self.source.kind()
    }
}

/// What the user can do about it, where the system's own words do not say.
fn hint(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            " (free some space or name another folder; nothing was changed)"
        }
        io::ErrorKind::ReadOnlyFilesystem => " (name a folder on a file system that can be written)",
        io::ErrorKind::PermissionDenied => " (check who owns it, or name another folder)",
        _ => "",
    }
}
