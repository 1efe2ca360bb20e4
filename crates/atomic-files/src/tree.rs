//! The files that a directory should hold, and how they differ from those that it holds.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::error::Error;
use crate::expected::{Expected, Fingerprint, State, has_bytes};
use crate::sys;
use crate::temporary::is_temporary;

/// The directories of version control systems. What is in them makes programs run.
const VERSION_CONTROL: &[&str] = &[".git", ".hg", ".jj", ".svn"];

/// What writing a tree did: paths relative to its directory, sorted.
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
    /// Returns whether nothing was changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.created.is_empty() && self.replaced.is_empty() && self.removed.is_empty()
    }
}

/// Files to be written below one directory, and files to be removed from it. Written by
/// [`DirectoryLock::write`](crate::DirectoryLock::write).
#[derive(Debug, Clone, Default)]
pub struct Tree<'a> {
    files: BTreeMap<String, Entry<'a>>,
}

#[derive(Debug, Clone)]
struct Entry<'a> {
    read: Expected,
    /// What the file should hold; `None` if it is to be removed.
    bytes: Option<Cow<'a, [u8]>>,
}

impl<'a> Tree<'a> {
    /// Returns an empty tree.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file: `path` (relative, with `/`), what the caller read there, and what it should hold.
    pub fn file(
        &mut self,
        path: impl Into<String>,
        read: impl Into<Expected>,
        bytes: impl Into<Cow<'a, [u8]>>,
    ) -> &mut Self {
        self.files.insert(path.into(), Entry { read: read.into(), bytes: Some(bytes.into()) });
        self
    }

    /// Adds a file to remove: `path` (relative, with `/`) and what the caller read there. Has no effect if the file does not
    /// exist, unless it is expected to.
    pub fn remove(&mut self, path: impl Into<String>, read: impl Into<Expected>) -> &mut Self {
        self.files.insert(path.into(), Entry { read: read.into(), bytes: None });
        self
    }

    /// Returns the subdirectories, of any depth, that files of the tree are in.
    pub(crate) fn directories(&self) -> BTreeSet<&Path> {
        let parents = self.files.keys().flat_map(|name| Path::new(name).ancestors().skip(1));
        parents.filter(|parent| !parent.as_os_str().is_empty()).collect()
    }

    /// Returns how the files in `directory` have to change.
    ///
    /// # Errors
    ///
    /// [`Error::Changed`] if a file is not as expected; [`Error::Io`] if a path leads out of `directory`, passes through a
    /// symbolic link or a file, names something other than a file or a symbolic link, or cannot be read.
    pub(crate) fn plan(&self, directory: &Path) -> Result<(Vec<Edit<'_>>, Changes), Error> {
        let (mut edits, mut changes) = (Vec::new(), Changes::default());
        let mut paths = Paths::default();
        for (name, Entry { read, bytes }) in &self.files {
            let path = paths.below(directory, name)?;
            let old = State::observe(&path)?;
            old.require(&path, *read)?;
            let list = match (&old, bytes) {
                (State::Absent, None) => continue,
                (State::Absent, Some(_)) => &mut changes.created,
                (_, None) => &mut changes.removed,
                (State::File(now), Some(bytes))
                    if *now == Fingerprint::new(bytes) && has_bytes(&path, bytes)? =>
                {
                    changes.unchanged.push(name.clone());
                    continue;
                }
                (_, Some(_)) => &mut changes.replaced,
            };
            list.push(name.clone());
            edits.push(Edit { name, old, new: bytes.as_deref() });
        }
        Ok((edits, changes))
    }
}

/// A file that has to change.
#[derive(Debug)]
pub(crate) struct Edit<'t> {
    /// The path below the directory.
    pub(crate) name: &'t str,
    pub(crate) old: State,
    /// What the file should hold; `None` if it is to be removed.
    pub(crate) new: Option<&'t [u8]>,
}

/// Resolves paths below a directory.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    /// The parents that are not symbolic links.
    checked: BTreeSet<PathBuf>,
}

impl Paths {
    /// Returns the path of `name` below `directory`.
    ///
    /// # Errors
    ///
    /// `name` is not a plain relative path, is reserved for temporary files or version control, or passes through a symbolic
    /// link.
    pub(crate) fn below(&mut self, directory: &Path, name: &str) -> Result<PathBuf, Error> {
        let path = directory.join(name);
        let plain = Path::new(name).components().all(|component| matches!(component, Component::Normal(_)));
        if !plain || name.is_empty() || name.ends_with('/') {
            return Err(Error::invalid(
                "write",
                &path,
                "the path must be relative and stay in its directory",
            ));
        }
        for part in Path::new(name) {
            if let Some(reason) = sys::invalid_name(part) {
                return Err(Error::invalid("write", &path, reason));
            }
            if is_temporary(part) {
                return Err(Error::invalid("write", &path, "the name is reserved for temporary files"));
            }
            if VERSION_CONTROL.iter().any(|reserved| part.eq_ignore_ascii_case(reserved)) {
                return Err(Error::invalid("write", &path, "the directory belongs to version control"));
            }
        }
        for parent in path.ancestors().skip(1).take_while(|parent| *parent != directory) {
            if self.checked.contains(parent) {
                break;
            }
            if fs::symlink_metadata(parent).is_ok_and(|metadata| metadata.is_symlink()) {
                let reason =
                    "it is a symbolic link; replace it with a directory, or choose another output directory";
                return Err(Error::invalid("write through", parent, reason));
            }
            self.checked.insert(parent.to_owned());
        }
        Ok(path)
    }
}
