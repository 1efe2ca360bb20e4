//! The user's files with keys, trusted roots and policies.

use std::path::{Path, PathBuf};

use super::file;
use crate::plain::io_error;

/// Maximum size of a file with a key, in bytes.
pub(crate) const MAX_KEY: u64 = 64 << 10;

/// A file with a key or with trusted roots cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("failed to read {}: {reason}", .path.display())]
pub struct KeyError {
    path: PathBuf,
    reason: String,
}

impl KeyError {
    pub(crate) fn at(path: &Path, reason: impl Into<String>) -> Self {
        Self { path: path.to_owned(), reason: reason.into() }
    }
}

/// Reads a file of at most `limit` bytes.
pub(crate) fn read(path: &Path, limit: u64) -> Result<Vec<u8>, KeyError> {
    file::read(path, limit).map_err(|error| KeyError::at(path, io_error(&error)))
}
