//! What can go wrong with images outside of a network.

use std::io;
use std::path::{Path, PathBuf};

/// An image could not be made, written or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder cannot be read.
    #[error("failed to read {}", .path.display())]
    Read {
        /// What was read.
        path: PathBuf,
        /// Why it cannot be.
        source: io::Error,
    },
    /// A file or folder cannot be written.
    #[error(transparent)]
    Write(#[from] atomic_files::Error),
    /// The temporary folder cannot take a layer.
    #[error("failed to write a layer into the temporary folder {} (set TMPDIR to a folder with more space)", .folder.display())]
    Temporary {
        /// The folder for temporary files.
        folder: PathBuf,
        /// Why it cannot be written.
        source: io::Error,
    },
    /// A path is neither a file nor a folder, or has no name that an archive can carry.
    #[error("{} cannot be put into an image: {reason}", .path.display())]
    Unsupported {
        /// The path on disk.
        path: PathBuf,
        /// What it is.
        reason: &'static str,
    },
    /// A path inside an image is absolute, leaves the image, or is used twice in ways that exclude each other.
    #[error("the path {path:?} inside the image is refused: {reason}")]
    UnsafePath {
        /// The path as the archive or the caller names it.
        path: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// An archive holds more than is sensible for what is read out of it.
    #[error("{what} is larger than {limit} bytes, which is refused")]
    TooLarge {
        /// What is too large.
        what: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// Bytes do not have the digest or the size they are named by.
    #[error("{what} should be {expected} and is {found}: it was cut off or changed")]
    Mismatch {
        /// Which bytes.
        what: String,
        /// The digest or size that was promised.
        expected: String,
        /// The digest or size that was found.
        found: String,
    },
    /// A document of an image is not what its media type says, or a layer has a format that is not read here.
    #[error("{what} is no valid {expected}: {reason}")]
    Malformed {
        /// Which document.
        what: String,
        /// What it should be.
        expected: &'static str,
        /// Why it is not.
        reason: String,
    },
    /// A layout does not hold the image that was asked for, or holds several and none was named.
    #[error("{} {reason}", .path.display())]
    NotFound {
        /// The layout.
        path: PathBuf,
        /// What is missing, and what is there.
        reason: String,
    },
    /// The bytes of a blob are not at hand: a layout lacks it, or it was not fetched from its registry.
    #[error("the blob {digest} is not there")]
    Absent {
        /// The blob.
        digest: String,
    },
}

impl Error {
    /// An error for reading `path`, to be used with `map_err`.
    pub(crate) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Read { path, source }
    }

    /// An error for the temporary folder, to be used with `map_err`.
    pub(crate) fn temporary(source: io::Error) -> Self {
        Self::Temporary { folder: std::env::temp_dir(), source }
    }

    /// An error for bytes that are not what they should be.
    pub(crate) fn malformed(
        what: impl Into<String>,
        expected: &'static str,
        reason: &(impl ToString + ?Sized),
    ) -> Self {
        Self::Malformed { what: what.into(), expected, reason: reason.to_string() }
    }
}
