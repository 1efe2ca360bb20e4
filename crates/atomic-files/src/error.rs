//! The error of this crate: what the system reported about which path, or which file others have changed.

use std::io;
use std::path::{Path, PathBuf};

use crate::sys;

/// A file or directory could not be written, and was left as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system reported an error.
    #[error("failed to {action} {}", sys::shown(.path).display())]
    Io {
        /// What failed: a verb.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's reason, with what the user can do about it.
        source: io::Error,
    },
    /// Another program changed, created or removed a file after this one had read it. Its change was kept.
    #[error("{} was changed by another program after it was read, and was not overwritten; run the command again", sys::shown(.path).display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
}

impl Error {
    /// Returns the error of an `action` (a verb) on `path` that failed with `source`.
    #[must_use]
    pub fn new(action: &'static str, path: &Path, source: io::Error) -> Self {
        let source = match advice(&source) {
            Some(advice) => with_advice(source, advice),
            None => source,
        };
        Self::Io { action, path: path.to_owned(), source }
    }

    pub(crate) fn invalid(action: &'static str, path: &Path, reason: &'static str) -> Self {
        Self::new(action, path, io::Error::new(io::ErrorKind::InvalidInput, reason))
    }

    pub(crate) fn changed(path: &Path) -> Self {
        Self::Changed { path: path.to_owned() }
    }

    /// Returns the path that could not be written.
    #[must_use]
    pub fn path(&self) -> &Path {
        let (Self::Io { path, .. } | Self::Changed { path }) = self;
        path
    }
}

/// Returns an error of the same kind with advice after the system's reason.
#[must_use]
pub fn with_advice(source: io::Error, advice: &'static str) -> io::Error {
    io::Error::new(source.kind(), Advised { reason: source, advice })
}

/// An error of the system with advice.
#[derive(Debug, thiserror::Error)]
#[error("{reason}; {advice}")]
struct Advised {
    reason: io::Error,
    advice: &'static str,
}

/// Returns what the user can do about an error, where the system's message does not say it.
fn advice(source: &io::Error) -> Option<&'static str> {
    Some(match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space or choose another directory; nothing was changed"
        }
        io::ErrorKind::FileTooLarge => "raise the file size limit, see `ulimit -f`; nothing was changed",
        io::ErrorKind::ReadOnlyFilesystem => "choose a directory on a writable file system",
        io::ErrorKind::PermissionDenied => "check its owner and mode, or choose another directory",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    #[test]
    fn advice_follows_the_reason() {
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        let error = Error::new("write", Path::new("a"), denied);
        assert_eq!(error.to_string(), "failed to write a");
        let reason = error.source().unwrap();
        assert_eq!(
            reason.to_string(),
            "permission denied; check its owner and mode, or choose another directory"
        );
        let kind = reason.downcast_ref::<io::Error>().unwrap().kind();
        assert_eq!(kind, io::ErrorKind::PermissionDenied);
    }
}
