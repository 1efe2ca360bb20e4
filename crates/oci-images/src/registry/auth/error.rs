//! Errors about stored credentials.

use std::io;
use std::path::PathBuf;

use crate::plain::io_error;

/// Stored credentials cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file with credentials cannot be read.
    #[error("failed to read credentials from {}: {}", .path.display(), io_error(.reason))]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        reason: io::Error,
    },
    /// A file with credentials is invalid.
    #[error("invalid credentials in {}: {reason}", .path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong, without quoting the file.
        reason: String,
    },
    /// A file with credentials cannot be written.
    #[error("failed to write credentials to {}: {}", .path.display(), io_error(.reason))]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        reason: io::Error,
    },
    /// A credential helper did not store or erase credentials.
    #[error("docker-credential-{helper}, configured in {}, failed: {reason}", .path.display())]
    StoreHelper {
        /// The helper's name.
        helper: String,
        /// The file that names it.
        path: PathBuf,
        /// What went wrong, without the helper's output.
        reason: String,
    },
    /// There is no place for credentials.
    #[error("no file for credentials: set REGISTRY_AUTH_FILE or HOME")]
    NoFile,
    /// A credential helper did not return credentials.
    #[error("docker-credential-{helper}, configured in {}, returned no credentials for {registry}: {reason}", .path.display())]
    Helper {
        /// The helper's name.
        helper: String,
        /// The file that names it.
        path: PathBuf,
        /// The registry it was asked about.
        registry: String,
        /// What went wrong, without the helper's output.
        reason: String,
    },
}
