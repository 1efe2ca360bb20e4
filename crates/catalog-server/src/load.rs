//! From a catalog's files to its index.

use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;
use sha2::{Digest as _, Sha256};

use super::document;
use super::index::{self, Digest, Index, IndexError, Prepared, Purpose};
use super::query::{Catalog, QueryError};
use super::site::{Graphs, Line, Site};
use super::state::CatalogSnapshot;
use olm_catalog::validate;
use olm_catalog::validate::Blob;
use olm_catalog::validate::decode;
use olm_model::disk;
use olm_model::read::catalog as reader;
use olm_model::read::catalog::{CatalogError, Content, Limits, Source};
use olm_model::report::{Finding, Severity};
use olm_rules::Selection;

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
    #[error("not a catalog: the directory contains no files")]
    Empty,
    /// `opm` rejects the catalog.
    #[error("invalid catalog: {}", first(.0))]
    Invalid(Vec<Finding>),
    /// The files were changed while they were read.
    #[error("the catalog was changed while it was being read")]
    Changed,
    /// The index cannot be made.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The index cannot be read.
    #[error(transparent)]
    Query(#[from] QueryError),
}

/// Returns the first finding that has a place, and how many there are besides it.
fn first(findings: &[Finding]) -> String {
    let more = match findings.len() {
        0 | 1 => String::new(),
        // A finding without a place counts those that are not listed.
        count if findings.iter().any(|finding| finding.file.is_none()) => {
            format!(" (and at least {} more)", count - 1)
        }
        count => format!(" (and {} more)", count - 1),
    };
    let placed = findings.iter().find(|finding| finding.file.is_some());
    let Some(Finding { file, line, column, message, .. }) = placed.or(findings.first()) else {
        return String::new();
    };
    match (file, line.zip(*column)) {
        (Some(file), Some((line, column))) => format!("{file}:{line}:{column}: {message}{more}"),
        (Some(file), None) => format!("{file}: {message}{more}"),
        (None, _) => format!("{message}{more}"),
    }
}

/// Returns the digest of the catalog at `root`, which its index names: that of the names and contents of its files.
///
/// # Errors
/// The catalog cannot be read, or has no file.
pub fn digest(root: &Path) -> Result<Digest, LoadError> {
    let sources = disk::catalog::sources(root)?;
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
        Content::Stream(file) => {
            let mut file = file.open().map_err(|reason| failed(io::Error::other(reason)))?;
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
    let made = index::make(documents(root, Some(Purpose::File), false)?.prepared)?;
    if digest(root)? != catalog {
        return Err(LoadError::Changed);
    }
    Ok(made.into_bytes(catalog))
}

/// Reads the catalog at `root` into what is served: from `index`, if there is one, or from an index in memory. With
/// `site`, the catalog's name in paths, also over HTTP: both are of one state of the catalog.
///
/// # Errors
/// As for [`build`].
pub fn snapshot(root: &Path, index: Option<Index>, site: Option<&str>) -> Result<CatalogSnapshot, LoadError> {
    let (index, lines, blobs) = match (index, site) {
        (Some(index), None) => (index, Vec::new(), Vec::new()),
        (Some(index), Some(_)) => {
            let Documents { lines, blobs, .. } = documents(root, None, true)?;
            if index.catalog() != Some(&digest(root)?) {
                return Err(LoadError::Changed);
            }
            (index, lines, blobs)
        }
        (None, site) => {
            let Documents { prepared, lines, blobs } =
                documents(root, Some(Purpose::Memory), site.is_some())?;
            (Index::in_memory(index::make(prepared)?)?, lines, blobs)
        }
    };
    let catalog = Arc::new(Catalog::new(index));
    let site = match site {
        Some(name) => Some(Arc::new(Site::new(name.to_owned(), lines, Graphs::new(blobs), &catalog)?)),
        None => None,
    };
    Ok(CatalogSnapshot { catalog, site })
}

/// The documents of a catalog.
struct Documents {
    /// Those for an index, if requested.
    prepared: Vec<Prepared>,
    /// Their lines for HTTP, if requested.
    lines: Vec<Line>,
    /// The names and edges of their upgrade graphs.
    blobs: Vec<Blob>,
}

/// Reads and validates the documents of a catalog, and prepares them for an index with a purpose.
fn documents(root: &Path, purpose: Option<Purpose>, wants_lines: bool) -> Result<Documents, LoadError> {
    let sources = disk::catalog::sources(root)?;
    if sources.is_empty() {
        return Err(LoadError::Empty);
    }
    let read = reader::documents(sources, Limits::default(), |document| {
        let decoded = decode(&document);
        let is_valid = decoded.findings.iter().all(|finding| finding.severity != Severity::Error);
        let prepared = match &document.content {
            Ok(parsed) if is_valid => {
                let json = parsed.tree.root().to_json();
                let line = wants_lines.then(|| Line::new(&json));
                let prepared = purpose.map(|purpose| index::prepare(document::read(&json), purpose));
                Some((prepared, line))
            }
            _ => None,
        };
        (decoded, prepared)
    })?;
    let mut findings = Vec::new();
    let mut blobs = Vec::with_capacity(read.len());
    let mut documents =
        Documents { prepared: Vec::with_capacity(read.len()), lines: Vec::new(), blobs: Vec::new() };
    for (decoded, document) in read {
        findings.extend(decoded.findings);
        blobs.push(decoded.blob);
        if let Some((prepared, line)) = document {
            documents.prepared.extend(prepared);
            documents.lines.extend(line);
        }
    }
    if !blobs.iter().any(|blob| matches!(blob, Blob::Invalid)) {
        findings.extend(validate::resolve(&blobs).1);
    }
    findings.retain(|finding| finding.severity == Severity::Error);
    // What OLM rejects is not served, whatever is ignored.
    let findings = olm_rules::choose(findings, Vec::new(), &Selection::default());
    documents.blobs = blobs;
    if findings.is_empty() { Ok(documents) } else { Err(LoadError::Invalid(findings)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_catalog_is_an_error_with_the_place_of_a_finding() {
        let directory = tempfile::tempdir().unwrap();
        let error = |text: &str| {
            std::fs::write(directory.path().join("catalog.yaml"), text).unwrap();
            build(directory.path()).unwrap_err().to_string()
        };
        // The findings that are not listed are one without a place.
        let many = error(&"---\n---\n".repeat(olm_rules::MAX_FINDINGS + 2));
        let place = "invalid catalog: catalog.yaml:";
        assert!(many.starts_with(place) && many.ends_with(" (and at least 500 more)"), "{many}");
        let two = error("---\n---\n---\n---\n");
        assert!(two.starts_with(place) && two.ends_with(" (and 1 more)"), "{two}");
    }

    #[test]
    fn an_index_and_the_pages_are_of_one_state_of_the_catalog() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("catalog");
        std::fs::create_dir(&root).unwrap();
        let catalog = |version: &str| {
            format!(
                "schema: olm.package\nname: gizmo\ndefaultChannel: stable\n---\nschema: olm.channel\nname: stable\n\
                 package: gizmo\nentries: [{{name: gizmo.v{version}}}]\n---\nschema: olm.bundle\nname: gizmo.v{version}\n\
                 package: gizmo\nimage: quay.io/a/b:v1\nproperties:\n\
                 - {{type: olm.package, value: {{packageName: gizmo, version: {version}}}}}\n"
            )
        };
        std::fs::write(root.join("catalog.yaml"), catalog("1.0.0")).unwrap();
        let file = directory.path().join("catalog.index");
        std::fs::write(&file, build(&root).unwrap()).unwrap();
        let open = || Index::open(&file, &digest(&root).unwrap()).unwrap();
        assert!(snapshot(&root, Some(open()), Some("catalog")).unwrap().site.is_some());
        // Nothing is prepared that no index is made of.
        let read = documents(&root, None, true).unwrap();
        assert_eq!((read.prepared.len(), read.lines.len(), read.blobs.len()), (0, 3, 3));
        let index = open();
        std::fs::write(root.join("catalog.yaml"), catalog("1.1.0")).unwrap();
        let error = snapshot(&root, Some(index), Some("catalog")).unwrap_err();
        assert!(matches!(error, LoadError::Changed), "{error}");
    }
}
