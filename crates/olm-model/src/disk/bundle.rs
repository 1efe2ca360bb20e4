//! Reads the directory of a bundle.
//!
//! What cannot be read within the directory is part of the bundle, for rules to report; only a directory that cannot be
//! listed, or a machine that cannot read, is an error.

use std::path::{Path, PathBuf};

use super::directory::Directory;
use super::error::WalkError;
use super::format::{self, FormatError};
use super::overlay::Overlay;
use super::walk::{Kind, Options};
use crate::Bundle;
use crate::file::Content;
use crate::read::bundle::{Loaded, Source, assembled, is_read, map, parse};
use crate::read::{MAX_FILE_SIZE, Unreadable};

/// Why a bundle cannot be read at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The directory cannot be listed.
    #[error(transparent)]
    Directory(#[from] WalkError),
    /// The directory is not a bundle, but something else.
    #[error(transparent)]
    Format(#[from] FormatError),
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
/// The directory does not exist, is not a directory or cannot be listed, is something other than a bundle, or the machine cannot
/// read a file.
pub fn directory(path: &Path) -> Result<Bundle, ReadError> {
    let directory = Directory::open(path)?;
    format::require_bundle(path)?;
    read(&directory, &Overlay::default())
}

/// Reads the bundle in a directory, with texts that stand for some of its files.
pub(crate) fn read(directory: &Directory, overlay: &Overlay) -> Result<Bundle, ReadError> {
    let mut directories = Vec::new();
    let mut listed = Vec::new();
    let mut to_read = 0;
    for entry in overlay.walk(directory, Options { skip_hidden_directories: true, ..Options::default() })? {
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
            // Such as a README: what is not read is not part of the bundle's image either.
            Kind::Unreadable(Unreadable::LeavesDirectory) if !is_read(&entry.name) => Source::Counted(0),
            Kind::Unreadable(error) => Source::Unreadable(0, error),
        };
        // A directory that cannot be listed is there as a directory already.
        let of_directory =
            directories.last().and_then(|directory| directory.strip_suffix('/')) == Some(&*entry.name);
        let name = if of_directory { entry.name + "/" } else { entry.name };
        listed.push((name, entry.below, source));
    }
    directories.sort();
    let read = map(listed, to_read, |(name, below, source)| load(name, &below, source, directory, overlay));
    let path = kube_yaml::text::path(directory.path());
    Ok(assembled(path, read.into_iter().collect::<Result<_, _>>()?, directories))
}

fn load(
    name: String,
    below: &Path,
    source: Source,
    directory: &Directory,
    overlay: &Overlay,
) -> Result<Loaded, ReadError> {
    let (size, error) = match source {
        Source::Counted(size) => return Ok(Loaded::unparsed(name, size, Content::Other)),
        // Some files of the kernel have no size and no end.
        Source::Read(0) => return Ok(parse(name, Vec::new())),
        Source::Read(size) => match overlay.read(directory, below, MAX_FILE_SIZE) {
            Ok(bytes) => return Ok(parse(name, bytes)),
            Err(error) => (size, error),
        },
        Source::Unreadable(size, error) => (size, error),
    };
    if error.is_environment() {
        return Err(ReadError::File { path: directory.path().join(below), source: error });
    }
    Ok(Loaded::unparsed(name, size, Content::Unreadable(error.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

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
