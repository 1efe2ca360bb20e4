//! Why directories cannot be read.

use std::io;
use std::path::PathBuf;

use crate::read::Unreadable;

/// Why a directory cannot be listed at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WalkError {
    /// The operating system reports an error.
    #[error("failed to read {}", path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The path is that of a file.
    #[error("{} is not a directory", path.display())]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// There are more entries than the reader accepts.
    #[error("{} contains more than {limit} files and directories", path.display())]
    TooManyEntries {
        /// The directory.
        path: PathBuf,
        /// The limit.
        limit: usize,
    },
}

impl From<WalkError> for Unreadable {
    fn from(error: WalkError) -> Self {
        match error {
            WalkError::Io { source, .. } => Self::Io(source),
            WalkError::NotADirectory { .. } => Self::Io(std::io::ErrorKind::NotADirectory.into()),
            error @ WalkError::TooManyEntries { .. } => Self::Io(std::io::Error::other(error)),
        }
    }
}
