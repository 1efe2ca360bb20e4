//! Files and folders into a [`Catalog`].
//!
//! Source: `alpha/declcfg/load.go` of operator-registry: every file below the folder whose name ends in `.yaml`,
//! `.yml` or `.json` holds blobs, one document each.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use super::yaml;
use crate::model::catalog::Catalog;
use crate::model::yaml::SyntaxError;

/// Why a catalogue cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// A file or folder cannot be read.
    #[error("failed to read {}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A file is no YAML.
    #[error("{}:{}:{}: not YAML: {}", path.display(), error.position.line, error.position.column, error.message)]
    Syntax {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        error: SyntaxError,
    },
    /// A document is no blob of a catalogue.
    #[error("{}: document {index} is no blob of a file-based catalogue: {reason}", path.display())]
    Blob {
        /// The file.
        path: PathBuf,
        /// The document's number, from 1.
        index: usize,
        /// What does not fit.
        reason: String,
    },
}

/// Reads all blobs below a folder; folders and files whose name begins with a dot are passed over.
///
/// # Errors
/// Something cannot be read, is no YAML, or is no blob.
pub fn folder(path: &Path) -> Result<Catalog, CatalogError> {
    let mut catalog = Catalog::default();
    walk(path, &mut catalog)?;
    Ok(catalog)
}

fn walk(path: &Path, catalog: &mut Catalog) -> Result<(), CatalogError> {
    let failed = |source| CatalogError::Read { path: path.to_owned(), source };
    let mut entries: Vec<PathBuf> = fs::read_dir(path)
        .map_err(failed)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .map_err(failed)?;
    entries.sort();
    for entry in entries {
        let name = entry.file_name().unwrap_or_default().to_string_lossy();
        let extension = entry.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        if name.starts_with('.') {
            continue;
        }
        if entry.is_dir() {
            walk(&entry, catalog)?;
        } else if matches!(extension, "yaml" | "yml" | "json") {
            catalog.merge(file(&entry)?);
        }
    }
    Ok(())
}

/// Reads the blobs of one file.
///
/// # Errors
/// The file cannot be read, is no YAML, or holds something that is no blob.
pub fn file(path: &Path) -> Result<Catalog, CatalogError> {
    let bytes = fs::read(path).map_err(|source| CatalogError::Read { path: path.to_owned(), source })?;
    let parsed = yaml::parse(&bytes);
    if let Some(error) = parsed.error {
        return Err(CatalogError::Syntax { path: path.to_owned(), error });
    }
    let mut catalog = Catalog::default();
    for (index, tree) in parsed.documents.iter().enumerate() {
        let blob = tree.root().to_json();
        let wrong = |reason: String| CatalogError::Blob { path: path.to_owned(), index: index + 1, reason };
        let decoded = match blob.get("schema").and_then(Json::as_str) {
            None | Some("") => return Err(wrong("it has no schema".to_owned())),
            Some("olm.package") => serde_json::from_value(blob).map(|package| catalog.packages.push(package)),
            Some("olm.channel") => serde_json::from_value(blob).map(|channel| catalog.channels.push(channel)),
            Some("olm.bundle") => serde_json::from_value(blob).map(|bundle| catalog.bundles.push(bundle)),
            Some(_) => {
                catalog.others.push(blob);
                Ok(())
            }
        };
        decoded.map_err(|error| wrong(error.to_string()))?;
    }
    Ok(catalog)
}
