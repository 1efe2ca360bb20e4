//! From a catalog's files to its index.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use rayon::prelude::*;
use sha2::{Digest as _, Sha256};

use super::document;
use super::index::{self, Digest, Index, IndexError, Prepared};
use crate::catalog::validate::{self, Blob, Decoded, Input, Problem};
use crate::read::catalog::{self as reader, CatalogError, Content, Document, Limits, Source};
use crate::read::yaml;
use crate::report::Severity;

/// Why a catalog has no index.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The catalog cannot be read.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// A file cannot be read.
    #[error("failed to read {file}: {error}")]
    Read {
        /// The file's path below the catalog.
        file: String,
        /// The cause.
        error: io::Error,
    },
    /// The catalog has no file.
    #[error("not a catalog: the directory contains no file")]
    Empty,
    /// `opm` rejects the catalog.
    #[error("invalid catalog: {}", first(.0))]
    Invalid(Vec<Problem>),
    /// The files were changed while they were read.
    #[error("the catalog was changed while it was read")]
    Changed,
    /// The index cannot be made.
    #[error(transparent)]
    Index(#[from] IndexError),
}

fn first(problems: &[Problem]) -> String {
    let more = match problems.len() {
        0 | 1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    problems
        .first()
        .map(|problem| format!("{}: {}{more}", problem.place, problem.message))
        .unwrap_or_default()
}

/// Returns the digest of the catalog at `root`, which its index names: that of the names and contents of its files.
///
/// # Errors
/// The catalog cannot be read, or has no file.
pub fn digest(root: &Path) -> Result<Digest, LoadError> {
    let sources = reader::sources(root)?;
    if sources.is_empty() {
        return Err(LoadError::Empty);
    }
    let files = sources.par_iter().map(of_file).collect::<Result<Vec<_>, _>>()?;
    let mut hash = Sha256::new();
    for (source, digest) in sources.iter().zip(files) {
        hash.update((source.name.len() as u64).to_le_bytes());
        hash.update(source.name.as_bytes());
        hash.update(digest);
    }
    Ok(hash.finalize().into())
}

fn of_file(source: &Source) -> Result<Digest, LoadError> {
    let failed = |error| LoadError::Read { file: source.name.to_string(), error };
    let mut hash = Sha256::new();
    match &source.content {
        Content::Bytes(bytes) => hash.update(bytes),
        Content::Path(path) => {
            let mut file = File::open(path).map_err(failed)?;
            if !file.metadata().map_err(failed)?.is_file() {
                return Err(failed(io::Error::other("not a regular file")));
            }
            let mut buffer = vec![0; 128 << 10];
            loop {
                match file.read(&mut buffer).map_err(failed)? {
                    0 => break,
                    length => hash.update(&buffer[..length]),
                }
            }
        }
        Content::Unreadable(reason) => return Err(failed(io::Error::other(reason.to_string()))),
    }
    Ok(hash.finalize().into())
}

/// Reads the catalog at `root` and returns the bytes of its index.
///
/// # Errors
/// The catalog cannot be read, is invalid, or changes meanwhile.
pub fn build(root: &Path) -> Result<Vec<u8>, LoadError> {
    let catalog = digest(root)?;
    let bytes = index::write(documents(root)?, catalog)?;
    if digest(root)? != catalog {
        return Err(LoadError::Changed);
    }
    Ok(bytes)
}

/// Reads the catalog at `root` into an index in memory.
///
/// # Errors
/// As for [`build`].
pub fn in_memory(root: &Path) -> Result<Index, LoadError> {
    Ok(Index::from_bytes(index::write(documents(root)?, Digest::default())?)?)
}

/// Reads and validates the documents of a catalog.
fn documents(root: &Path) -> Result<Vec<Prepared>, LoadError> {
    let sources = reader::sources(root)?;
    if sources.is_empty() {
        return Err(LoadError::Empty);
    }
    let read = reader::documents(sources, Limits::default(), |document| {
        let decoded = decode(&document);
        let is_valid = decoded.problems.iter().all(|problem| problem.rule.severity != Severity::Error);
        let prepared = match &document.content {
            Ok(parsed) if is_valid => Some(index::prepare(document::read(&parsed.tree.root().to_json()))),
            _ => None,
        };
        (decoded, prepared)
    })?;
    let mut problems = Vec::new();
    let (mut blobs, mut prepared) = (Vec::with_capacity(read.len()), Vec::with_capacity(read.len()));
    for (decoded, document) in read {
        problems.extend(decoded.problems);
        blobs.push(decoded.blob);
        prepared.extend(document);
    }
    if !blobs.iter().any(|blob| matches!(blob, Blob::Invalid)) {
        problems.extend(validate::link(&blobs).1);
    }
    problems.retain(|problem| problem.rule.severity == Severity::Error);
    problems.sort_by(|a, b| (&a.place, a.rule.id).cmp(&(&b.place, b.rule.id)));
    if problems.is_empty() { Ok(prepared) } else { Err(LoadError::Invalid(problems)) }
}

fn decode(document: &Document) -> Decoded {
    let (root, line, is_rest_ignored) = match &document.content {
        Ok(parsed) => (Ok(parsed.tree.root()), parsed.line, parsed.is_rest_ignored),
        Err(error) => (Err(error.clone()), 0, false),
    };
    let check_yaml = |text: &[u8]| {
        let parsed = yaml::parse(text);
        match parsed.error {
            Some(error) if parsed.documents.is_empty() => Err(error),
            _ => Ok(()),
        }
    };
    validate::decode(&Input { file: document.file.clone(), line, root, is_rest_ignored, check_yaml })
}
