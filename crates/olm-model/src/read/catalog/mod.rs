//! Reads file-based catalogs, document by document.
//!
//! Every file below the directory belongs to the catalog, whatever its name and that of its directory, but for the files
//! that `.indexignore` files name. Files are split as streams and their documents parsed in parallel, so that memory does
//! not grow with the size of the catalog beyond what the caller keeps of each document.
//!
//! Source: `alpha/declcfg/load.go` of operator-registry v1.73.

mod ignore;
mod split;

use std::collections::BTreeMap;
use std::fmt;
use std::io::{BufReader, Cursor, Read};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;

use self::split::{Chunk, SplitError, Splitter};
use super::unreadable::Unreadable;
use crate::catalog::{Blob, Catalog};
use kube_yaml::Aliased;
use kube_yaml::text::source_name;
use kube_yaml::{Position, SyntaxError, Tree, string};

pub use self::ignore::MAX_PATTERNS;
pub(crate) use self::ignore::{Ignore, is_ignore_file};

/// The first bytes of an `SQLite` index.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// How much of a catalog is read.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The maximum size of one document in bytes.
    pub document_size: usize,
    /// The maximum size of all files together in bytes.
    pub total_size: u64,
    /// The maximum number of documents, each of which may be a finding of about 1 kB.
    pub documents: usize,
    /// The maximum number of documents that are not blobs, because they are empty, cannot be read or have no schema: each is a finding,
    /// however short it is.
    pub without_schema: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { document_size: 32 << 20, total_size: 4 << 30, documents: 500_000, without_schema: 10_000 }
    }
}

/// Why a catalog cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogError {
    /// The directory cannot be listed.
    #[error(transparent)]
    List(Box<dyn std::error::Error + Send + Sync>),
    /// Something in the directory cannot be read.
    #[error("{}: {reason}", source_name(file))]
    Unreadable {
        /// The path below the catalog.
        file: String,
        /// Why.
        reason: Unreadable,
    },
    /// An `.indexignore` file has too many or too long patterns.
    #[error("{}: {reason}", source_name(file))]
    Ignore {
        /// The path below the catalog.
        file: String,
        /// What is wrong.
        reason: String,
    },
    /// A document does not parse.
    #[error("{}:{}:{}: {}", source_name(file), error.position.line, error.position.column, error.with_help())]
    Syntax {
        /// The path below the catalog.
        file: String,
        /// What is wrong, and where.
        error: SyntaxError,
    },
    /// A document is not a blob of a catalog.
    #[error("{}:{}:{}: {reason}", source_name(file), position.line, position.column)]
    Blob {
        /// The path below the catalog.
        file: String,
        /// Where the document begins, or the value that does not fit.
        position: Position,
        /// What does not fit.
        reason: String,
    },
    /// The aliases of all documents together stand for too much.
    #[error("{0}")]
    Aliases(String),
    /// The catalog exceeds a limit.
    #[error("the catalog exceeds the limit of {limit} {unit}")]
    TooLarge {
        /// The limit.
        limit: u64,
        /// What is counted.
        unit: &'static str,
    },
}

/// One file of a catalog.
#[derive(Debug)]
pub struct Source {
    /// The path below the catalog, separated by `/`.
    pub name: Arc<str>,
    /// Where its bytes are.
    pub content: Content,
}

/// Opens a file, each time from its beginning.
pub trait Open: fmt::Debug + Send + Sync {
    /// Opens the file.
    ///
    /// # Errors
    /// It cannot be opened.
    fn open(&self) -> Result<Box<dyn Read + Send>, Unreadable>;
}

/// Where the bytes of a file are.
#[derive(Debug)]
pub enum Content {
    /// Behind what opens them, such as a file on disk.
    Stream(Box<dyn Open>),
    /// In memory.
    Bytes(Vec<u8>),
    /// Nowhere: the entry of the directory is not a readable file.
    Unreadable(Unreadable),
}

/// One document of a catalog.
#[derive(Debug)]
pub struct Document {
    /// The file's path below the catalog.
    pub file: Arc<str>,
    /// What was found.
    pub content: Result<Parsed, SyntaxError>,
}

/// A document that could be parsed, or a place in a file where there is none.
#[derive(Debug)]
pub struct Parsed {
    /// The document; null where it is empty.
    pub tree: Tree,
    /// The document's bytes, with the comments that surround it.
    pub text: Vec<u8>,
    /// How many lines precede the document in its file: positions in the tree do not include them.
    pub line: u32,
    /// Where the document begins in its file, in bytes.
    pub offset: u64,
    /// Whether the document is JSON.
    pub is_json: bool,
    /// Whether something follows the document that opm does not read.
    pub is_rest_ignored: bool,
}

impl Parsed {
    /// Returns a position within the document as one within the file.
    #[must_use]
    pub fn in_file(&self, position: Position) -> Position {
        Position { line: position.line.saturating_add(self.line), ..position }
    }
}

/// Returns the files of a catalog in memory, by their paths below it, without those that `.indexignore` files name.
///
/// # Errors
/// An `.indexignore` file has too many or too long patterns.
pub fn sources_in(files: BTreeMap<String, Vec<u8>>) -> Result<Vec<Source>, CatalogError> {
    let mut ignore = Ignore::default();
    for (name, bytes) in files.iter().filter(|(name, _)| is_ignore_file(name)) {
        ignore.add(name, bytes).map_err(|reason| CatalogError::Ignore { file: name.clone(), reason })?;
    }
    let files = files.into_iter().filter(|(name, _)| !is_ignore_file(name) && !ignore.is_ignored(name));
    Ok(files.map(|(name, bytes)| Source { name: name.into(), content: Content::Bytes(bytes) }).collect())
}

/// Calls `each` for every document of the files, in parallel, and returns what it returns in the order of the files.
///
/// What cannot be parsed is a document of its own; the rest of such a file is read where its next document is known to
/// begin.
///
/// # Errors
/// The catalog exceeds a limit.
pub fn documents<T: Send>(
    sources: impl IntoIterator<Item = Source, IntoIter: Send>,
    limits: Limits,
    each: impl Fn(Document) -> T + Sync,
) -> Result<Vec<T>, CatalogError> {
    // Aliases take memory only where they are decoded, which whoever keeps blobs does.
    let aliased = Mutex::new(Aliased::default());
    let without_schema = AtomicUsize::new(0);
    let chunks =
        Chunks { sources: sources.into_iter(), current: None, file: 0, limits, size: 0, documents: 0 };
    let mut found = chunks
        .par_bridge()
        .map(|raw| {
            let raw = raw?;
            let order = raw.order;
            let (document, of_document) = raw.parse();
            let mut sum = aliased.lock().unwrap_or_else(PoisonError::into_inner);
            sum.add(of_document).map_err(CatalogError::Aliases)?;
            drop(sum);
            if !has_schema(&document) && without_schema.fetch_add(1, Relaxed) >= limits.without_schema {
                let limit = limits.without_schema as u64;
                return Err(CatalogError::TooLarge { limit, unit: "documents without a schema" });
            }
            Ok((order, each(document)))
        })
        .collect::<Result<Vec<_>, CatalogError>>()?;
    found.sort_unstable_by_key(|(order, _)| *order);
    Ok(found.into_iter().map(|(_, item)| item).collect())
}

/// Returns whether a document could be read and names a schema.
fn has_schema(document: &Document) -> bool {
    document.content.as_ref().is_ok_and(|parsed| !string(parsed.tree.root(), "schema").is_empty())
}

/// Reads all blobs of the files.
///
/// # Errors
/// Something cannot be read, does not parse, is not a blob, or exceeds a limit.
pub fn blobs(sources: Vec<Source>, limits: Limits) -> Result<Catalog, CatalogError> {
    let mut catalog = Catalog::default();
    for blob in documents(sources, limits, |document| blob(&document))? {
        catalog.push(blob?);
    }
    Ok(catalog)
}

/// Reads one document as a blob.
fn blob(document: &Document) -> Result<Blob, CatalogError> {
    match &document.content {
        Err(error) => Err(CatalogError::Syntax { file: document.file.to_string(), error: error.clone() }),
        Ok(parsed) => Blob::decode(parsed.tree.root()).map_err(|error| CatalogError::Blob {
            file: document.file.to_string(),
            position: parsed.in_file(error.position),
            reason: if error.path == "schema" {
                error.message
            } else {
                format!("{}: {}", error.path, error.message)
            },
        }),
    }
}

/// A document that is not yet parsed.
struct Raw {
    /// The number of the file and that of the document in it.
    order: (usize, usize),
    file: Arc<str>,
    content: Result<Chunk, SyntaxError>,
}

impl Raw {
    /// Parses the document; returns it with what its aliases stand for.
    fn parse(self) -> (Document, Aliased) {
        let mut aliased = Aliased::default();
        let content = self.content.and_then(|chunk| parse(chunk, &mut aliased));
        (Document { file: self.file, content }, aliased)
    }
}

fn parse(chunk: Chunk, aliased: &mut Aliased) -> Result<Parsed, SyntaxError> {
    if chunk.text.starts_with(SQLITE) {
        let message =
            "this is an SQLite index, not a file-based catalog: convert it with `opm migrate` of opm 1.72 or earlier"
                .to_owned();
        return Err(SyntaxError::new(message, Position { line: 1, column: 1 }));
    }
    let kube_yaml::Parsed { documents, error, json_only, aliased: of_text, .. } =
        kube_yaml::parse(&chunk.text);
    *aliased = of_text;
    if let Some(position) = json_only.filter(|_| !chunk.is_json) {
        let message = "the document is read as YAML, which does not have this escape of JSON".to_owned();
        let line = position.line.saturating_add(chunk.line);
        return Err(SyntaxError::new(message, Position { line, ..position }));
    }
    let mut documents = documents.into_iter();
    let (tree, is_rest_ignored) = match (documents.next(), error) {
        (Some(tree), error) => (tree, documents.next().is_some() || error.is_some()),
        (None, None) => (Tree::default(), false),
        (None, Some(mut error)) => {
            error.position.line = error.position.line.saturating_add(chunk.line);
            return Err(error);
        }
    };
    Ok(Parsed {
        tree,
        line: chunk.line,
        offset: chunk.offset,
        text: chunk.text,
        is_json: chunk.is_json,
        is_rest_ignored,
    })
}

/// The documents of all files, one after the other.
struct Chunks<I> {
    sources: I,
    current: Option<(Arc<str>, usize, Splitter<'static>)>,
    /// How many files were begun.
    file: usize,
    limits: Limits,
    size: u64,
    documents: usize,
}

impl<I: Iterator<Item = Source>> Iterator for Chunks<I> {
    type Item = Result<Raw, CatalogError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((file, count, splitter)) = &mut self.current {
                let order = (self.file, *count);
                *count += 1;
                let content = match splitter.next() {
                    Ok(Some(chunk)) => Ok(chunk),
                    Ok(None) => {
                        self.current = None;
                        continue;
                    }
                    Err(error) => Err(syntax_error(&error)),
                };
                let raw = Raw { order, file: file.clone(), content };
                self.size += raw.content.as_ref().map_or(0, |chunk| chunk.text.len() as u64);
                self.documents += 1;
                let too_large = |limit, unit| Some(Err(CatalogError::TooLarge { limit, unit }));
                if self.size > self.limits.total_size {
                    return too_large(self.limits.total_size, "bytes");
                }
                if self.documents > self.limits.documents {
                    return too_large(self.limits.documents as u64, "documents");
                }
                return Some(Ok(raw));
            }
            let source = self.sources.next()?;
            self.file += 1;
            let limit = self.limits.document_size;
            let splitter = match source.content {
                Content::Bytes(bytes) => Ok(Splitter::new(Cursor::new(bytes), limit)),
                Content::Stream(file) => {
                    file.open().map(|file| Splitter::new(BufReader::with_capacity(64 << 10, file), limit))
                }
                Content::Unreadable(reason) => Err(reason),
            };
            match splitter {
                Ok(splitter) => self.current = Some((source.name, 0, splitter)),
                Err(reason) => {
                    let error = SyntaxError::new(reason.to_string(), Position::default());
                    return Some(Ok(Raw { order: (self.file, 0), file: source.name, content: Err(error) }));
                }
            }
        }
    }
}

/// What ended a file, with its place; the default position where it has none.
fn syntax_error(error: &SplitError) -> SyntaxError {
    let line_start = |line: u32| Position { line: line.saturating_add(1), column: 1 };
    let position = match *error {
        SplitError::Io(_) => Position::default(),
        SplitError::TooLarge { line, .. } | SplitError::Separator { line } => line_start(line),
        SplitError::Json { line, column, .. } => Position { line: line.saturating_add(1), column },
    };
    SyntaxError::new(error.to_string(), position)
}
