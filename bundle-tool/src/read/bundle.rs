//! Reads a directory or an image's files into a [`Bundle`].
//!
//! What cannot be read within the directory is part of the bundle, for rules to report; only a directory that cannot be
//! listed, or a machine that cannot read, is an error.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::file::{MAX_FILE_SIZE, Unreadable};
use super::overlay::Overlay;
use super::walk::{Kind, Options, WalkError};
use super::yaml::{self, Aliased};
use crate::model::Images;
use crate::model::bundle::Bundle;
use crate::model::file::{Content, File, MANIFESTS, METADATA};

/// The maximum size of all files of a bundle that are read, in bytes. OLM accepts 1 MiB, compressed.
pub const MAX_BUNDLE_SIZE: u64 = 64 << 20;

/// Below this size, in bytes, a bundle is parsed in less time than threads take to start.
const MIN_SIZE_FOR_THREADS: u64 = 256 << 10;

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
pub fn directory(path: &Path) -> Result<Bundle, ReadError> {
    directory_with(path, &Overlay::default())
}

/// Reads the bundle in the directory `path`, with texts that stand for some of its files.
///
/// # Errors
/// As for [`directory`].
pub fn directory_with(path: &Path, overlay: &Overlay) -> Result<Bundle, ReadError> {
    let mut directories = Vec::new();
    let mut listed = Vec::new();
    let mut to_read = 0;
    for entry in overlay.walk(path, Options { skip_hidden_directories: true, ..Options::default() })? {
        let source = match entry.kind {
            Kind::Directory => {
                directories.push(entry.name + "/");
                continue;
            }
            Kind::File(size) => {
                if is_read(&entry.name) {
                    to_read += size.min(MAX_FILE_SIZE);
                }
                Source::new(&entry.name, size, to_read)
            }
            Kind::Unreadable(error) => Source::Unreadable(0, error),
        };
        // A directory that cannot be listed is there as a directory already.
        let of_directory =
            directories.last().and_then(|directory| directory.strip_suffix('/')) == Some(&*entry.name);
        let name = if of_directory { entry.name + "/" } else { entry.name };
        listed.push((name, entry.path, source));
    }
    directories.sort();
    let read = map(listed, to_read, |(name, path, source)| load(name, path, source, overlay));
    Ok(assembled(path.display().to_string(), read.into_iter().collect::<Result<_, _>>()?, directories))
}

/// What was read of one file.
struct Loaded {
    file: File,
    aliased: Aliased,
}

/// The bundle of its files, whose aliases share one limit.
fn assembled(path: String, read: Vec<Loaded>, directories: Vec<String>) -> Bundle {
    let mut aliased = Aliased::default();
    let files = read.into_iter().map(|loaded| match aliased.add(loaded.aliased) {
        Ok(()) => loaded.file,
        Err(reason) => {
            let reason = format!("the bundle's {reason}");
            File { content: Content::Unreadable(reason), ..loaded.file }
        }
    });
    let files: Vec<File> = files.collect();
    Bundle { path, files, directories, submission: None, dockerfile: None, images: Images::new() }
}

/// A bundle from files in memory, as an image holds them: relative path to bytes.
#[must_use]
pub fn files(name: &str, contents: &BTreeMap<String, Vec<u8>>) -> Bundle {
    let mut directories = BTreeSet::new();
    for path in contents.keys() {
        directories.extend(path.match_indices('/').map(|(at, _)| path[..=at].to_owned()));
    }
    let mut to_read = 0;
    let files: Vec<_> = contents
        .iter()
        .map(|(path, content)| {
            let size = content.len() as u64;
            if is_read(path) {
                to_read += size.min(MAX_FILE_SIZE);
            }
            (path, content, Source::new(path, size, to_read))
        })
        .collect();
    let read = map(files, to_read, |(path, content, source)| match source {
        Source::Read(_) => parse(path.clone(), content.clone()),
        Source::Counted(size) => Loaded::unparsed(path.clone(), size, Content::Other),
        Source::Unreadable(size, error) => {
            Loaded::unparsed(path.clone(), size, Content::Unreadable(error.to_string()))
        }
    });
    assembled(name.to_owned(), read, directories.into_iter().collect())
}

/// Maps files of `size` bytes together, in parallel if that is worth it.
fn map<T: Send, R: Send>(files: Vec<T>, size: u64, load: impl Fn(T) -> R + Send + Sync) -> Vec<R> {
    if size < MIN_SIZE_FOR_THREADS {
        files.into_iter().map(load).collect()
    } else {
        files.into_par_iter().map(load).collect()
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

impl Loaded {
    fn unparsed(path: String, size: u64, content: Content) -> Self {
        let file = File { path, size, content, bytes: Vec::new() };
        Self { file, aliased: Aliased::default() }
    }
}

fn load(name: String, path: PathBuf, source: Source, overlay: &Overlay) -> Result<Loaded, ReadError> {
    let (size, error) = match source {
        Source::Counted(size) => return Ok(Loaded::unparsed(name, size, Content::Other)),
        // Some files of the kernel have no size and no end.
        Source::Read(0) => return Ok(parse(name, Vec::new())),
        Source::Read(size) => match overlay.read(&path, MAX_FILE_SIZE) {
            Ok(bytes) => return Ok(parse(name, bytes)),
            Err(error) => (size, error),
        },
        Source::Unreadable(size, error) => (size, error),
    };
    if error.is_environment() {
        return Err(ReadError::File { path, source: error });
    }
    Ok(Loaded::unparsed(name, size, Content::Unreadable(error.to_string())))
}

fn parse(path: String, bytes: Vec<u8>) -> Loaded {
    let (content, aliased) = if is_read(&path) {
        let parsed = yaml::parse(&bytes);
        let content = Content::Documents {
            documents: parsed.documents,
            error: parsed.error,
            first: parsed.first,
            json_only: parsed.json_only,
        };
        (content, parsed.aliased)
    } else {
        (Content::Other, Aliased::default())
    };
    let file = File { path, size: bytes.len() as u64, content, bytes };
    Loaded { file, aliased }
}

fn is_read(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let extension = Path::new(name).extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    path.starts_with(MANIFESTS) || path.starts_with(METADATA) || matches!(extension, "yaml" | "yml" | "json")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::yaml::{MAX_ALIASED_BYTES, MAX_ALIASED_VALUES};

    #[test]
    fn the_files_of_a_bundle_share_the_limit_of_aliases() {
        let text = format!("x: &x {}\ny: [{}]\n", "x".repeat(1 << 16), "*x,".repeat(100));
        let expanded = 100u64 << 16;
        assert!(expanded < MAX_ALIASED_BYTES && 3 * expanded > MAX_ALIASED_BYTES && MAX_ALIASED_VALUES > 300);
        let contents = (0..4).map(|index| (format!("manifests/{index}.yaml"), text.clone().into_bytes()));
        let bundle = files("image", &contents.collect());
        let unreadable: Vec<_> = bundle
            .files
            .iter()
            .filter_map(|file| match &file.content {
                Content::Unreadable(reason) => Some((file.path.as_str(), reason.as_str())),
                _ => None,
            })
            .collect();
        let reason = "the bundle's aliases expand to more than 16777216 bytes";
        assert_eq!(unreadable, [("manifests/2.yaml", reason), ("manifests/3.yaml", reason)]);
    }

    #[test]
    fn the_files_of_a_bundle_share_a_limit_of_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let manifests = dir.path().join("manifests");
        std::fs::create_dir(&manifests).unwrap();
        for (name, size) in [("a", MAX_FILE_SIZE + 1), ("b", 10), ("c", 20), ("d", MAX_FILE_SIZE), ("e", 1)] {
            std::fs::File::create(manifests.join(name)).unwrap().set_len(size).unwrap();
        }
        let bundle = directory(dir.path()).unwrap();
        let unreadable: Vec<_> = bundle
            .files
            .iter()
            .filter_map(|file| match &file.content {
                Content::Unreadable(reason) => Some(format!("{}: {reason}", file.path)),
                _ => None,
            })
            .collect();
        assert_eq!(
            unreadable,
            [
                "manifests/a: the file exceeds the limit of 33554432 bytes",
                "manifests/d: the files read together exceed the limit of 67108864 bytes",
                "manifests/e: the files read together exceed the limit of 67108864 bytes",
            ]
        );
    }
}
