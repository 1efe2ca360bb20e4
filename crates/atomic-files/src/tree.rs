//! The files that a directory should hold, and how they differ from those that it holds.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::error::Error;
use crate::file::{Change, same_bytes};
use crate::temporary::is_temporary;

/// What writing a tree did, or would do: paths relative to its directory, sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Changes {
    /// Files that did not exist.
    pub created: Vec<String>,
    /// Files that held other bytes, and symbolic links that a file replaces.
    pub replaced: Vec<String>,
    /// Files that existed and are no longer wanted.
    pub removed: Vec<String>,
    /// Files that already held the right bytes.
    pub unchanged: Vec<String>,
}

impl Changes {
    /// Returns whether nothing was, or would be, changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns how many files were, or would be, changed.
    #[must_use]
    pub fn len(&self) -> usize {
        self.created.len() + self.replaced.len() + self.removed.len()
    }

    /// Iterates over the files that were, or would be, written.
    pub(crate) fn written(&self) -> impl Iterator<Item = &String> {
        self.created.iter().chain(&self.replaced)
    }
}

/// Files to be written below one directory, and files to be removed from it. Written by
/// [`DirectoryLock::write`](crate::DirectoryLock::write).
#[derive(Debug, Clone, Default)]
pub struct Tree<'a> {
    files: BTreeMap<String, Cow<'a, [u8]>>,
    removals: BTreeSet<String>,
    last: Vec<String>,
}

impl<'a> Tree<'a> {
    /// Returns an empty tree.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file: `path` (relative, with `/`) and what it should hold.
    pub fn file(&mut self, path: impl Into<String>, bytes: impl Into<Cow<'a, [u8]>>) -> &mut Self {
        self.files.insert(path.into(), bytes.into());
        self
    }

    /// Adds a file like [`Self::file`], which is renamed after all others where files are written one by one: a process that is
    /// killed before that leaves its old bytes. Several such files are renamed in the order in which they were added.
    pub fn last_file(&mut self, path: impl Into<String>, bytes: impl Into<Cow<'a, [u8]>>) -> &mut Self {
        let path = path.into();
        self.last.push(path.clone());
        self.file(path, bytes)
    }

    /// Returns how late a file is renamed.
    pub(crate) fn order(&self, path: &str) -> Option<usize> {
        self.last.iter().position(|last| last == path)
    }

    /// Adds a file to remove: `path` (relative, with `/`). Has no effect if the tree holds a file of that name.
    pub fn remove(&mut self, path: impl Into<String>) -> &mut Self {
        self.removals.insert(path.into());
        self
    }

    pub(crate) fn bytes(&self, path: &str) -> &[u8] {
        self.files.get(path).map(AsRef::as_ref).unwrap_or_default()
    }

    /// Returns the subdirectories, of any depth, that files of the tree are in.
    pub(crate) fn directories(&self) -> BTreeSet<&Path> {
        let names = self.files.keys().chain(&self.removals);
        let parents = names.flat_map(|name| Path::new(name).ancestors().skip(1));
        parents.filter(|parent| !parent.as_os_str().is_empty()).collect()
    }

    /// Returns what [`DirectoryLock::write`](crate::DirectoryLock::write) would do, without doing it.
    ///
    /// # Errors
    ///
    /// [`Error`] if a path leads out of `directory`, passes through a symbolic link or a file, names something other
    /// than a file or a symbolic link, or cannot be read.
    pub fn compare(&self, directory: &Path) -> Result<Changes, Error> {
        let mut changes = Changes::default();
        let mut parents = BTreeSet::new();
        for (name, bytes) in &self.files {
            let path = below(directory, name, &mut parents)?;
            let list = match compare(&path, bytes)? {
                Change::Created => &mut changes.created,
                Change::Replaced => &mut changes.replaced,
                Change::Unchanged => &mut changes.unchanged,
            };
            list.push(name.clone());
        }
        for name in self.removals.iter().filter(|name| !self.files.contains_key(*name)) {
            let path = below(directory, name, &mut parents)?;
            match fs::symlink_metadata(&path) {
                Ok(metadata) if metadata.is_dir() => {
                    return Err(Error::new("remove", &path, io::ErrorKind::IsADirectory.into()));
                }
                Ok(_) => changes.removed.push(name.clone()),
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
                Err(error) => return Err(Error::new("read", &path, error)),
            }
        }
        Ok(changes)
    }
}

/// Returns what writing `bytes` to `path` would change. A symbolic link is not followed: it would be replaced.
fn compare(path: &Path, bytes: &[u8]) -> Result<Change, Error> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_symlink() => Ok(Change::Replaced),
        Ok(metadata) if metadata.is_dir() => {
            Err(Error::new("write", path, io::ErrorKind::IsADirectory.into()))
        }
        Ok(metadata) if metadata.is_file() => {
            let same = metadata.len() == bytes.len() as u64 && same_bytes(path, bytes)?;
            Ok(if same { Change::Unchanged } else { Change::Replaced })
        }
        Ok(_) => Err(Error::invalid("write", path, "it is a device, a pipe or a socket; remove it first")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Change::Created),
        Err(error) => Err(Error::new("write", path, error)),
    }
}

/// Returns the path of `name` below `directory`.
///
/// `parents` holds the directories that were checked already.
///
/// # Errors
///
/// `name` is not a plain relative path, is reserved for temporary files, or passes through a symbolic link.
fn below(directory: &Path, name: &str, parents: &mut BTreeSet<PathBuf>) -> Result<PathBuf, Error> {
    let path = directory.join(name);
    let plain = Path::new(name).components().all(|component| matches!(component, Component::Normal(_)));
    if !plain || name.is_empty() || name.ends_with('/') {
        return Err(Error::invalid("write", &path, "the path must be relative and stay in its directory"));
    }
    if Path::new(name).iter().any(is_temporary) {
        return Err(Error::invalid("write", &path, "the name is reserved for temporary files"));
    }
    for parent in path.ancestors().skip(1).take_while(|parent| *parent != directory) {
        if parents.contains(parent) {
            break;
        }
        if fs::symlink_metadata(parent).is_ok_and(|metadata| metadata.is_symlink()) {
            let reason =
                "it is a symbolic link; replace it with a directory, or choose another output directory";
            return Err(Error::invalid("write through", parent, reason));
        }
        parents.insert(parent.to_owned());
    }
    Ok(path)
}
