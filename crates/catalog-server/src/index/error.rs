//! Why an index cannot be used or written.

use std::io;

use olm_model::read::Unreadable;

/// The version of the format that this program reads and writes.
pub const VERSION: u32 = 1;

/// Why an index cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// The file cannot be opened or read.
    #[error("failed to read the index: {0}")]
    Read(#[from] Unreadable),
    /// The file is not an index.
    #[error("not an index of bundle-tool")]
    Foreign,
    /// The file is an index in another version of the format.
    #[error("the index has format version {0}, expected {VERSION}")]
    Version(u32),
    /// The file is not as it was written.
    #[error("the index is damaged: {0}")]
    Damaged(&'static str),
    /// The index was made of another catalog, or of another state of it.
    #[error("the index belongs to another catalog or to an earlier state of this one")]
    Stale,
    /// The catalog has more than an index can hold.
    #[error("the catalog exceeds the limit of {limit} {unit} of an index")]
    TooLarge {
        /// The limit.
        limit: u64,
        /// What is counted.
        unit: &'static str,
    },
    /// The catalog was not validated before.
    #[error("{0}")]
    Unlinked(String),
}

impl From<io::Error> for IndexError {
    fn from(error: io::Error) -> Self {
        Self::Read(error.into())
    }
}
