//! Reads a directory or an image's files into a [`Bundle`].
//!
//! What cannot be read within the directory is part of the bundle, for rules to report; only a directory that cannot be
//! listed, or a machine that cannot read, is an error.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use base64::write::EncoderWriter;
use flate2::Compression;
use flate2::write::GzEncoder;
use rayon::prelude::*;

use super::file::{self, MAX_FILE_SIZE, Unreadable};
use super::walk::{Kind, Options, WalkError, walk};
use super::yaml;
use crate::model::bundle::{ANNOTATIONS_FILE, Bundle, Content, File, MANIFESTS, METADATA};

/// The maximum size of all files of a bundle that are read, in bytes. OLM accepts 1 MiB, compressed.
pub const MAX_BUNDLE_SIZE: u64 = 64 << 20;

/// Below this plain size, in bytes, the compressed size cannot reach a limit and is not computed.
const MIN_SIZE_TO_COMPRESS: u64 = 512 << 10;

/// Why a bundle cannot be read at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The directory cannot be listed.
    #[error(transparent)]
    Directory(#[from] WalkError),
    /// The machine cannot read a file that can be listed.
    #[error("failed to read {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: Unreadable,
    },
}

/// Reads the bundle in the directory `path`.
///
/// # Errors
/// The directory does not exist, is not a directory or cannot be listed, or the machine cannot read a file.
pub fn folder(path: &Path) -> Result<Bundle, ReadError> {
    let mut folders = Vec::new();
    let mut listed = Vec::new();
    let (mut total, mut to_read) = (0, 0);
    for entry in walk(path, Options { skip_hidden_directories: true, ..Options::default() })? {
        let source = match entry.kind {
            Kind::Directory => {
                folders.push(entry.name + "/");
                continue;
            }
            Kind::File(size) => {
                total += size;
                if is_read(&entry.name) {
                    to_read += size.min(MAX_FILE_SIZE);
                }
                Source::new(&entry.name, size, to_read)
            }
            Kind::Unreadable(error) => Source::Unreadable(0, error),
        };
        // A directory that cannot be listed is there as a directory already.
        let of_directory = folders.last().and_then(|folder| folder.strip_suffix('/')) == Some(&*entry.name);
        let name = if of_directory { entry.name + "/" } else { entry.name };
        listed.push((name, entry.path, source));
    }
    folders.sort();
    let read = listed
        .into_par_iter()
        .map(|(name, path, source)| load(name, path, source, total))
        .collect::<Result<Vec<_>, _>>()?;
    let compressed = read.iter().map(|(_, compressed)| compressed).sum();
    Ok(Bundle {
        path: path.display().to_string(),
        files: read.into_iter().map(|(file, _)| file).collect(),
        folders,
        compressed_size: (total > MIN_SIZE_TO_COMPRESS).then_some(compressed),
    })
}

/// A bundle from files in memory, as an image holds them: relative path to bytes.
#[must_use]
pub fn files(name: &str, contents: &BTreeMap<String, Vec<u8>>) -> Bundle {
    let total: u64 = contents.values().map(|content| content.len() as u64).sum();
    let mut folders = BTreeSet::new();
    for path in contents.keys() {
        folders.extend(path.match_indices('/').map(|(at, _)| path[..=at].to_owned()));
    }
    let read: Vec<(File, u64)> =
        contents.par_iter().map(|(path, content)| parse(path.clone(), content, total)).collect();
    let compressed = read.iter().map(|(_, compressed)| compressed).sum();
    Bundle {
        path: name.to_owned(),
        files: read.into_iter().map(|(file, _)| file).collect(),
        folders: folders.into_iter().collect(),
        compressed_size: (total > MIN_SIZE_TO_COMPRESS).then_some(compressed),
    }
}

/// What becomes of a listed file.
enum Source {
    /// It is read and parsed.
    Read(u64),
    /// It is counted.
    Counted(u64),
    /// It is reported.
    Unreadable(u64, Unreadable),
}

impl Source {
    /// For a file of `size` bytes, with which `to_read` bytes are to be read.
    fn new(name: &str, size: u64, to_read: u64) -> Self {
        if !is_read(name) {
            Self::Counted(size)
        } else if size > MAX_FILE_SIZE {
            Self::Unreadable(size, Unreadable::TooLarge(MAX_FILE_SIZE))
        } else if to_read > MAX_BUNDLE_SIZE {
            Self::Unreadable(size, Unreadable::TotalTooLarge(MAX_BUNDLE_SIZE))
        } else {
            Self::Read(size)
        }
    }
}

fn load(name: String, path: PathBuf, source: Source, total: u64) -> Result<(File, u64), ReadError> {
    let (size, error) = match source {
        Source::Counted(size) => return Ok((File { path: name, size, content: Content::Other }, 0)),
        // Some files of the kernel have no size and no end.
        Source::Read(0) => return Ok(parse(name, &[], total)),
        Source::Read(size) => match file::read(&path, MAX_FILE_SIZE) {
            Ok(bytes) => return Ok(parse(name, &bytes, total)),
            Err(error) => (size, error),
        },
        Source::Unreadable(size, error) => (size, error),
    };
    if error.is_environment() {
        return Err(ReadError::File { path, source: error });
    }
    // As large as it is at least, so that a bundle that is too large is reported as such.
    Ok((File { path: name, size, content: Content::Unreadable(error.to_string()) }, size))
}

fn parse(path: String, bytes: &[u8], total: u64) -> (File, u64) {
    let content = if is_read(&path) {
        let parsed = yaml::parse(bytes);
        Content::Documents {
            documents: parsed.documents,
            error: parsed.error,
            first: parsed.first,
            json_only: parsed.json_only,
        }
    } else {
        Content::Other
    };
    let unpacked = path != ANNOTATIONS_FILE && (path.starts_with(MANIFESTS) || path.starts_with(METADATA));
    let compressed = if unpacked && total > MIN_SIZE_TO_COMPRESS { compressed_size(bytes) } else { 0 };
    (File { path, size: bytes.len() as u64, content }, compressed)
}

fn is_read(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let extension = Path::new(name).extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    path.starts_with(MANIFESTS) || path.starts_with(METADATA) || matches!(extension, "yaml" | "yml" | "json")
}

/// The size of `bytes` compressed with gzip and encoded in base64.
///
/// Of this compressor's levels the seventh comes nearest to Go's default: within half a percent over published bundles.
fn compressed_size(bytes: &[u8]) -> u64 {
    let mut counter = Counter(0);
    {
        let encoder = EncoderWriter::new(&mut counter, &base64::engine::general_purpose::STANDARD);
        let mut gzip = GzEncoder::new(encoder, Compression::new(7));
        // Writing into a counter cannot fail.
        let _ = gzip.write_all(bytes);
        let _ = gzip.finish();
    }
    counter.0
}

struct Counter(u64);

impl std::io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
