//! Reads plain manifests from a stream.

use std::io::Read;

use super::unreadable::{MAX_FILE_SIZE, Unreadable, read_stream};
use crate::Document;
use kube_yaml::SyntaxError;

/// The maximum size of all manifests that are read together, in bytes.
pub const MAX_TOTAL_SIZE: u64 = 128 << 20;

/// Why manifests cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// A directory cannot be listed.
    #[error(transparent)]
    List(Box<dyn std::error::Error + Send + Sync>),
    /// A file or stream cannot be read.
    #[error("failed to read {}", path)]
    Read {
        /// The file.
        path: String,
        /// The reason.
        source: Unreadable,
    },
    /// The aliases of all files together stand for too much.
    #[error("failed to read {}: {reason}", path)]
    Aliases {
        /// The directory.
        path: String,
        /// Which limit is exceeded.
        reason: String,
    },
    /// A file is not valid YAML.
    #[error("{file}:{}:{}: invalid YAML: {}", error.position.line, error.position.column, error.with_help())]
    Syntax {
        /// The file.
        file: String,
        /// What is wrong, and where.
        error: SyntaxError,
    },
}

/// Reads all manifests of a stream, which messages call `name`.
///
/// # Errors
/// The stream breaks, is too large, or is not valid YAML.
pub fn stream(name: &str, stream: impl Read) -> Result<Vec<Document>, ManifestError> {
    let file = name.to_owned();
    let bytes = read_stream(stream, MAX_FILE_SIZE)
        .map_err(|source| ManifestError::Read { path: name.into(), source })?;
    let parsed = kube_yaml::parse(&bytes);
    if let Some(error) = parsed.error {
        return Err(ManifestError::Syntax { file, error });
    }
    Ok(parsed.documents.into_iter().map(|tree| Document { file: file.clone(), tree }).collect())
}
