//! A folder into a [`Bundle`]. What cannot be read within the folder is part of the bundle, for rules to name; only a
//! folder that cannot be listed is an error.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use base64::write::EncoderWriter;
use flate2::Compression;
use flate2::write::GzEncoder;
use rayon::prelude::*;

use super::yaml;
use crate::model::bundle::{ANNOTATIONS_FILE, Bundle, Content, File, MANIFESTS, METADATA};

/// How large a file may be that is read as YAML, in bytes. The API server takes 3 MiB at most.
pub const MAX_FILE_SIZE: u64 = 64 << 20;

/// Below this plain size, in bytes, the compressed size cannot reach a limit and is not computed.
const WORTH_COMPRESSING: u64 = 512 << 10;

/// Why a folder cannot be read at all.
#[derive(Debug, thiserror::Error)]
#[error("failed to read {}", path.display())]
pub struct ReadError {
    /// The folder.
    pub path: PathBuf,
    /// The system's reason.
    pub source: std::io::Error,
}

/// Reads the bundle in the folder `path`.
///
/// # Errors
/// The folder does not exist, is no folder, or cannot be listed.
pub fn folder(path: &Path) -> Result<Bundle, ReadError> {
    let mut listing = Listing::default();
    list(path, "", &mut listing).map_err(|source| ReadError { path: path.to_owned(), source })?;
    let read: Vec<(File, u64)> = listing
        .files
        .into_par_iter()
        .map(|(relative, entry)| match entry {
            Ok(size) => load(&path.join(&relative), relative, size, listing.bytes),
            Err(reason) => (File { path: relative, size: 0, content: Content::Unreadable(reason) }, 0),
        })
        .collect();
    let compressed = read.iter().map(|(_, compressed)| compressed).sum();
    Ok(Bundle {
        path: path.display().to_string(),
        files: read.into_iter().map(|(file, _)| file).collect(),
        folders: listing.folders,
        compressed_size: (listing.bytes > WORTH_COMPRESSING).then_some(compressed),
    })
}

/// A bundle from files in memory, as an image holds them: relative path to bytes.
#[must_use]
pub fn files(name: &str, contents: &BTreeMap<String, Vec<u8>>) -> Bundle {
    let bytes: u64 = contents.values().map(|content| content.len() as u64).sum();
    let mut folders = std::collections::BTreeSet::new();
    for path in contents.keys() {
        folders.extend(path.match_indices('/').map(|(at, _)| path[..=at].to_owned()));
    }
    let read: Vec<(File, u64)> =
        contents.par_iter().map(|(path, content)| parse(path.clone(), content, bytes)).collect();
    let compressed = read.iter().map(|(_, compressed)| compressed).sum();
    Bundle {
        path: name.to_owned(),
        files: read.into_iter().map(|(file, _)| file).collect(),
        folders: folders.into_iter().collect(),
        compressed_size: (bytes > WORTH_COMPRESSING).then_some(compressed),
    }
}

#[derive(Default)]
struct Listing {
    files: BTreeMap<String, Result<u64, String>>,
    folders: Vec<String>,
    bytes: u64,
}

/// How deep folders are followed; a bundle has one level.
const MAX_FOLDERS: usize = 32;

fn list(folder: &Path, prefix: &str, listing: &mut Listing) -> std::io::Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let relative = format!("{prefix}{}", entry.file_name().to_string_lossy());
        // Links are followed, as the other readers of bundles do.
        match fs::metadata(entry.path()) {
            Ok(metadata) if metadata.is_dir() => {
                let folder = relative + "/";
                listing.folders.push(folder.clone());
                // What lies below a folder that cannot be listed cannot be named; the folder is.
                if folder.matches('/').count() <= MAX_FOLDERS
                    && let Err(error) = list(&entry.path(), &folder, listing)
                {
                    listing.files.insert(folder, Err(error.to_string()));
                }
            }
            Ok(metadata) if metadata.is_file() => {
                listing.bytes += metadata.len();
                listing.files.insert(relative, Ok(metadata.len()));
            }
            Ok(_) => {
                listing.files.insert(relative, Err("it is neither a file nor a folder".to_owned()));
            }
            Err(error) => {
                listing.files.insert(relative, Err(error.to_string()));
            }
        }
    }
    Ok(())
}

fn load(path: &Path, relative: String, size: u64, total: u64) -> (File, u64) {
    if size > MAX_FILE_SIZE {
        let reason = format!("it is larger than {} MiB", MAX_FILE_SIZE >> 20);
        return (File { path: relative, size, content: Content::Unreadable(reason) }, size);
    }
    if !is_read(&relative) {
        return (File { path: relative, size, content: Content::Other }, 0);
    }
    match fs::read(path) {
        Ok(bytes) => parse(relative, &bytes, total),
        Err(error) => (File { path: relative, size, content: Content::Unreadable(error.to_string()) }, 0),
    }
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
    let compressed = if unpacked && total > WORTH_COMPRESSING { compressed_size(bytes) } else { 0 };
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
