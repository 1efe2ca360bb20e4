//! Reads files in memory into a [`Bundle`].
//!
//! What cannot be read is part of the bundle, for rules to report.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rayon::prelude::*;

use super::unreadable::{MAX_FILE_SIZE, Unreadable};
use crate::Images;
use crate::bundle::Bundle;
use crate::file::{Content, File, MANIFESTS, METADATA};
use kube_yaml::Aliased;

/// The maximum size of all files of a bundle that are read, in bytes. OLM accepts 1 MiB, compressed.
pub const MAX_BUNDLE_SIZE: u64 = 64 << 20;

/// Below this size, in bytes, a bundle is parsed in less time than threads take to start.
const MIN_SIZE_FOR_THREADS: u64 = 256 << 10;

/// What was read of one file.
pub(crate) struct Loaded {
    file: File,
    aliased: Aliased,
}

/// The bundle of its files, whose aliases share one limit.
pub(crate) fn assembled(path: String, read: Vec<Loaded>, directories: Vec<String>) -> Bundle {
    let mut aliased = Aliased::default();
    let files = read.into_iter().map(|loaded| match aliased.add(loaded.aliased) {
        Ok(()) => loaded.file,
        Err(reason) => {
            let reason = format!("the bundle's {reason}");
            File { content: Content::Unreadable(reason), ..loaded.file }
        }
    });
    let files: Vec<File> = files.collect();
    Bundle {
        path,
        parent: None,
        files,
        directories,
        submission: None,
        dockerfile: None,
        images: Images::new(),
    }
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
        Source::Read(size) => {
            debug_assert_eq!(size, content.len() as u64);
            parse(path.clone(), content.clone())
        }
        Source::Counted(size) => Loaded::unparsed(path.clone(), size, Content::Other),
        Source::Unreadable(size, error) => {
            Loaded::unparsed(path.clone(), size, Content::Unreadable(error.to_string()))
        }
    });
    assembled(name.to_owned(), read, directories.into_iter().collect())
}

/// Replaces the bytes of a file of the bundle, or of its Dockerfile, such as by fixed ones.
pub fn replace(bundle: &mut Bundle, path: &str, bytes: Vec<u8>) {
    if let Some(file) = bundle.dockerfile.as_mut().filter(|file| file.path == path) {
        file.size = bytes.len() as u64;
        file.bytes = bytes;
    } else if let Some(file) = bundle.files.iter_mut().find(|file| file.path == path) {
        *file = parse(path.to_owned(), bytes).file;
    }
}

/// Maps files of `size` bytes together, in parallel if that is worth it.
pub(crate) fn map<T: Send, R: Send>(files: Vec<T>, size: u64, load: impl Fn(T) -> R + Send + Sync) -> Vec<R> {
    if size < MIN_SIZE_FOR_THREADS {
        files.into_iter().map(load).collect()
    } else {
        files.into_par_iter().map(load).collect()
    }
}

/// What becomes of a listed file.
pub(crate) enum Source {
    /// It is read and parsed.
    Read(u64),
    /// It is counted.
    Counted(u64),
    /// It is reported.
    Unreadable(u64, Unreadable),
}

impl Source {
    /// For a file of `size` bytes, with which `to_read` bytes are to be read.
    pub(crate) fn new(name: &str, size: u64, to_read: u64) -> Self {
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
    pub(crate) fn unparsed(path: String, size: u64, content: Content) -> Self {
        let file = File { path, size, content, bytes: Vec::new() };
        Self { file, aliased: Aliased::default() }
    }
}

pub(crate) fn parse(path: String, bytes: Vec<u8>) -> Loaded {
    let (content, aliased) = if is_read(&path) {
        let parsed = kube_yaml::parse(&bytes);
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

pub(crate) fn is_read(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let extension = Path::new(name).extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    path.starts_with(MANIFESTS) || path.starts_with(METADATA) || matches!(extension, "yaml" | "yml" | "json")
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube_yaml::{MAX_ALIASED_BYTES, MAX_ALIASED_VALUES};

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
}
