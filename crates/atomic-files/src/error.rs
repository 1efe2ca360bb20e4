//! The error of this crate: the action that failed, the path, and the system's reason.

use std::io;
use std::path::{Path, PathBuf};

/// A file or directory could not be written, and was left as it was.
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

    pub(crate) fn invalid(action: &'static str, path: &Path, reason: &'static str) -> Self {
        Self::new(action, path, io::Error::new(io::ErrorKind::InvalidInput, reason))
    }

    /// Returns the path that could not be written.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the kind of the system's error.
    #[must_use]
    pub fn kind(&self) -> io::ErrorKind {
        self.source.kind()
    }
}

/// Returns what the user can do about an error, where the system's message does not say it.
fn hint(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            " (free some space or choose another directory; nothing was changed)"
        }
        io::ErrorKind::FileTooLarge => " (raise the file size limit, see `ulimit -f`; nothing was changed)",
        io::ErrorKind::ReadOnlyFilesystem => " (choose a directory on a writable file system)",
        io::ErrorKind::PermissionDenied => " (check its owner and mode, or choose another directory)",
        _ => "",
    }
}
