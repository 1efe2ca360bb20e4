//! Errors about images outside of a network.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::json::json_error;

/// An image could not be built, written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or directory cannot be read.
    #[error("failed to read {}", .path.display())]
    Read {
        /// The file or directory.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file or directory cannot be written.
    #[error(transparent)]
    Write(#[from] atomic_files::Error),
    /// The directory for temporary files does not accept a layer.
    #[error("failed to write a layer to the temporary directory {}", .directory.display())]
    Temporary {
        /// The directory for temporary files.
        directory: PathBuf,
        /// The system's reason, with what the user can do about it.
        source: io::Error,
    },
    /// A FIFO, a device, a socket or a directory is where a regular file must be.
    #[error("{} is {found}, expected a regular file", .path.display())]
    NotRegular {
        /// The path on disk.
        path: PathBuf,
        /// The type that was found, with an article.
        found: &'static str,
    },
    /// A symbolic link leads out of the layout that contains it.
    #[error("{} is a symbolic link out of the layout", .path.display())]
    Outside {
        /// The path in the layout.
        path: PathBuf,
    },
    /// A file that is not an archive of images would be replaced.
    #[error("{} is a file that is not an archive of images; choose a new file", .path.display())]
    NotAnArchive {
        /// The file.
        path: PathBuf,
    },
    /// A path on disk cannot become part of an image.
    #[error("{} cannot be added to an image: {reason}", .path.display())]
    Unsupported {
        /// The path on disk.
        path: PathBuf,
        /// The reason.
        reason: &'static str,
    },
    /// A path inside an image or an archive is absolute, leaves the image, or contradicts another entry.
    #[error("unsafe path {} in the image: {reason}", Quoted(.path))]
    UnsafePath {
        /// The path as the archive or the caller names it.
        path: String,
        /// The reason.
        reason: &'static str,
    },
    /// Two sources are for the same path inside an image, or one for a file and one for a directory.
    #[error("duplicate path {} in the image: {sources}", Quoted(.path))]
    DuplicatePath {
        /// The path as the caller names it.
        path: String,
        /// The sources.
        sources: String,
    },
    /// Foreign data has more bytes than its reader accepts.
    #[error("{what} exceeds the limit of {limit} bytes")]
    TooLarge {
        /// What is too large.
        what: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// Foreign data has more parts than its reader accepts.
    #[error("{what} exceeds the limit of {limit}")]
    TooMany {
        /// What was counted.
        what: String,
        /// The limit.
        limit: u64,
    },
    /// Bytes do not have the digest or the size that names them.
    #[error("{what}: expected {expected}, got {found} (truncated or corrupted)")]
    Mismatch {
        /// Which bytes.
        what: String,
        /// The expected digest or size.
        expected: String,
        /// The actual digest or size.
        found: String,
    },
    /// A document of an image does not have the form of its media type, or a layer has an unsupported format.
    #[error("{what} is not a valid {expected}: {reason}")]
    Malformed {
        /// Which document.
        what: String,
        /// The expected form.
        expected: &'static str,
        /// The reason.
        reason: String,
    },
    /// An index cannot be written to a Docker archive.
    #[error("{name} has images for several platforms, but a Docker archive contains images for one only")]
    SeveralPlatforms {
        /// The name of the index.
        name: String,
    },
    /// A layout does not contain the requested image, or contains several and none was named.
    #[error("{}: {reason}", .path.display())]
    NotFound {
        /// The layout.
        path: PathBuf,
        /// What is missing, and what there is.
        reason: String,
    },
    /// The bytes of a blob are not available: the layout lacks it, or it was not fetched from its registry.
    #[error("blob {digest} is missing")]
    Absent {
        /// The digest of the blob.
        digest: String,
    },
}

impl Error {
    /// Returns a function that turns an I/O error into one about reading `path`, for `map_err`.
    pub(crate) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Read { path, source }
    }

    /// Returns the same error of opening a file, with the path as it was named.
    pub(crate) fn with_path(self, named: &Path) -> Self {
        match self {
            Self::Read { source, .. } => Self::Read { path: named.to_owned(), source },
            Self::NotRegular { found, .. } => Self::NotRegular { path: named.to_owned(), found },
            other => other,
        }
    }

    /// Turns an I/O error into one about the directory for temporary files, for `map_err`.
    pub(crate) fn temporary(source: io::Error) -> Self {
        let source = match source.kind() {
            // There may be space, but not for a file of this size.
            io::ErrorKind::FileTooLarge => {
                atomic_files::with_advice(source, "raise the file size limit, see `ulimit -f`")
            }
            _ => atomic_files::with_advice(source, "set TMPDIR to a directory with more space"),
        };
        Self::Temporary { directory: std::env::temp_dir(), source }
    }

    /// Returns an error about the file system of `directory`, where bytes are stored until they are at their place.
    #[cfg(feature = "registry")]
    pub(crate) fn stored_in(directory: &Path, source: io::Error) -> Self {
        if directory == std::env::temp_dir() {
            Self::temporary(source)
        } else {
            atomic_files::Error::new("write to", directory, source).into()
        }
    }

    /// Returns an error about bytes that do not have the expected form.
    pub(crate) fn malformed(
        what: impl Into<String>,
        expected: &'static str,
        reason: &(impl ToString + ?Sized),
    ) -> Self {
        Self::Malformed { what: what.into(), expected, reason: reason.to_string() }
    }

    /// Returns an error about a document that is not the JSON of the expected form.
    pub(crate) fn malformed_json(
        what: impl Into<String>,
        expected: &'static str,
        error: &serde_json::Error,
    ) -> Self {
        Self::malformed(what, expected, &json_error(error))
    }

    /// Returns an error about a path inside an image.
    pub(crate) fn unsafe_path(path: &str, reason: &'static str) -> Self {
        Self::UnsafePath { path: path.to_owned(), reason }
    }
}

/// Foreign text for a message: in backticks, escaped, and shortened.
pub(crate) struct Quoted<'a>(pub(crate) &'a str);

impl Quoted<'_> {
    /// The maximum number of characters that a message repeats.
    const MAX_CHARS: usize = 120;
}

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.0.char_indices().nth(Self::MAX_CHARS).map_or(self.0.len(), |(end, _)| end);
        let rest = if end < self.0.len() { "…" } else { "" };
        write!(formatter, "`{}{rest}`", self.0[..end].escape_debug())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_names_are_escaped_and_shortened_in_messages() {
        let error = Error::unsafe_path("a\n\u{1b}[31mb", "it is absolute").to_string();
        assert_eq!(error, r"unsafe path `a\n\u{1b}[31mb` in the image: it is absolute");
        let error = Error::unsafe_path(&"n".repeat(5000), "it is too long").to_string();
        assert!(error.len() < 200, "{error}");
    }
}
