//! Several files that belong together, replaced as one step as far as a file system allows it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::pending::{parent, sync_folder};
use super::{Change, Error, Pending, compare};

/// What writing a tree did, or would do: paths relative to its folder, sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Files that did not exist.
    pub created: Vec<String>,
    /// Files that held other bytes.
    pub replaced: Vec<String>,
    /// Files that existed and are no longer wanted.
    pub removed: Vec<String>,
    /// Files that already held the right bytes.
    pub unchanged: Vec<String>,
}

impl Changes {
    /// True where nothing was, or would be, touched.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.created.is_empty() && self.replaced.is_empty() && self.removed.is_empty()
    }
}

/// Files to be written below one folder, and files to be removed from it.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    files: BTreeMap<String, Vec<u8>>,
    removals: BTreeSet<String>,
}

/// Writes `files` (relative path with `/` → bytes) below `folder`: all of them or, where one fails, none.
///
/// # Errors
///
/// As [`Tree::write`].
pub fn tree(folder: &Path, files: BTreeMap<String, Vec<u8>>) -> Result<Changes, Error> {
    Tree { files, removals: BTreeSet::new() }.write(folder)
}

impl Tree {
    /// An empty tree.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Wants `path` (relative, with `/`) to hold `bytes`.
    pub fn file(&mut self, path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> &mut Self {
        self.files.insert(path.into(), bytes.into());
        self
    }

    /// Wants `path` (relative, with `/`) gone, unless the tree also holds a file of that name.
    pub fn remove(&mut self, path: impl Into<String>) -> &mut Self {
        self.removals.insert(path.into());
        self
    }

    /// What [`Tree::write`] would do, without doing it; for `--check`.
    ///
    /// # Errors
    ///
    /// [`Error`] where a path leads out of `folder`, or something there cannot be read.
    pub fn compare(&self, folder: &Path) -> Result<Changes, Error> {
        let mut changes = Changes::default();
        for (name, bytes) in &self.files {
            match compare(&below(folder, name)?, bytes)? {
                Change::Created => changes.created.push(name.clone()),
                Change::Replaced => changes.replaced.push(name.clone()),
                Change::Unchanged => changes.unchanged.push(name.clone()),
            }
        }
        for name in self.removals.iter().filter(|name| !self.files.contains_key(*name)) {
            let path = below(folder, name)?;
            match fs::symlink_metadata(&path) {
                Ok(metadata) if metadata.is_dir() => {
                    return Err(Error::new("remove", &path, io::ErrorKind::IsADirectory.into()));
                }
                Ok(_) => changes.removed.push(name.clone()),
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
                Err(error) => return Err(Error::new("look at", &path, error)),
            }
        }
        Ok(changes)
    }

    /// Writes every file that differs and removes what is to go.
    ///
    /// All bytes are on the disk before the first name changes, so a full disk or a refused folder leaves everything
    /// as it was; where a rename fails all the same, those before it are taken back. Files that already hold their
    /// bytes are not touched, and links are followed as by [`file`](super::file()).
    ///
    /// # Errors
    ///
    /// [`Error`] with the path that failed, where a path leads out of `folder`, or the system refuses.
    pub fn write(&self, folder: &Path) -> Result<Changes, Error> {
        let changes = self.compare(folder)?;
        let mut undo = Undo::default();
        let mut staged = Vec::new();
        for name in changes.created.iter().chain(&changes.replaced) {
            let path = below(folder, name)?;
            undo.will_create_folders(&path);
            let mut pending = Pending::new(&path)?;
            if let Some(bytes) = self.files.get(name) {
                pending.append(bytes)?;
            }
            staged.push((path, pending));
        }
        for (path, pending) in staged {
            undo.will_replace(&path)?;
            pending.commit()?;
        }
        for name in &changes.removed {
            let path = below(folder, name)?;
            undo.will_replace(&path)?;
            fs::remove_file(&path).map_err(|error| Error::new("remove", &path, error))?;
            sync_folder(parent(&path));
        }
        undo.forget();
        Ok(changes)
    }
}

/// `name` below `folder`, refused where it is not a plain relative path.
fn below(folder: &Path, name: &str) -> Result<PathBuf, Error> {
    let path = folder.join(name);
    let plain = Path::new(name).components().all(|component| matches!(component, Component::Normal(_)));
    if !plain || name.is_empty() || name.ends_with('/') {
        let reason =
            io::Error::new(io::ErrorKind::InvalidInput, "the path must be relative and stay in its folder");
        return Err(Error::new("write", &path, reason));
    }
    Ok(path)
}

/// Takes back what was done when it is dropped before [`Undo::forget`].
#[derive(Debug, Default)]
struct Undo {
    /// Where a file stood before, and the second name its old bytes are kept under; none where there was no file.
    files: Vec<(PathBuf, Option<PathBuf>)>,
    /// Folders that did not exist, outermost first.
    folders: Vec<PathBuf>,
}

impl Undo {
    fn will_create_folders(&mut self, path: &Path) {
        let missing: Vec<_> = path
            .ancestors()
            .skip(1)
            .take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists())
            .map(Path::to_owned)
            .collect();
        self.folders.extend(missing.into_iter().rev());
    }

    /// Keeps the old bytes under a second name (a hard link: no copy, no gap without a file).
    fn will_replace(&mut self, path: &Path) -> Result<(), Error> {
        let fail = |error| Error::new("replace", path, error);
        let old = match fs::symlink_metadata(path) {
            // A link stays and its target is replaced, so the target is what has to be kept; one that leads nowhere
            // is replaced itself.
            Ok(metadata) if metadata.is_symlink() => match fs::canonicalize(path) {
                Ok(target) => target,
                Err(_) => return Ok(()),
            },
            Ok(metadata) if metadata.is_file() => path.to_owned(),
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.files.push((path.to_owned(), None));
                return Ok(());
            }
            Err(error) => return Err(fail(error)),
        };
        let kept = tempfile::Builder::new()
            .prefix(".bundle-tool-old-")
            .make_in(parent(&old), |kept| match fs::hard_link(&old, kept) {
                // Not every file system has hard links.
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    fs::copy(&old, kept).map(|_| ())
                }
                result => result,
            })
            .and_then(|kept| kept.into_temp_path().keep().map_err(|error| error.error))
            .map_err(fail)?;
        self.files.push((old, Some(kept)));
        Ok(())
    }

    /// Everything went well: what was kept is thrown away.
    fn forget(mut self) {
        self.folders.clear();
        for (_, kept) in self.files.drain(..) {
            if let Some(kept) = kept {
                let _ = fs::remove_file(kept);
            }
        }
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        // An error is already on its way to the user; what cannot be taken back now stays as it is.
        for (path, kept) in self.files.drain(..).rev() {
            let _ = match kept {
                Some(kept) => fs::rename(kept, path),
                None => fs::remove_file(path),
            };
        }
        for folder in self.folders.drain(..).rev() {
            let _ = fs::remove_dir(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(entries: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
        entries.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect()
    }

    /// Every file below `folder` with its text.
    fn found(folder: &Path) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(next) = folders.pop() {
            for entry in fs::read_dir(next).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                if path.is_dir() {
                    found.push((format!("{name}/"), String::new()));
                    folders.push(path);
                } else {
                    found.push((name, fs::read_to_string(path).unwrap()));
                }
            }
        }
        found.sort();
        found
    }

    #[test]
    fn writes_what_differs_and_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let changes = tree(dir.path(), files(&[("a", "1"), ("m/b", "2"), ("m/c", "3")])).unwrap();
        assert_eq!(changes.created, ["a", "m/b", "m/c"]);
        let mut next = Tree { files: files(&[("a", "1"), ("m/b", "two")]), removals: BTreeSet::new() };
        next.remove("m/c").remove("m/never");
        let expected = Changes {
            created: Vec::new(),
            replaced: vec!["m/b".into()],
            removed: vec!["m/c".into()],
            unchanged: vec!["a".into()],
        };
        assert_eq!(next.compare(dir.path()).unwrap(), expected);
        assert_eq!(next.write(dir.path()).unwrap(), expected);
        let here = found(dir.path());
        let here: Vec<_> = here.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        assert_eq!(here, [("a", "1"), ("m/", ""), ("m/b", "two")]);
        assert!(next.write(dir.path()).unwrap().is_empty());
    }

    #[test]
    fn nothing_changes_when_one_file_cannot_be_staged() {
        let dir = tempfile::tempdir().unwrap();
        tree(dir.path(), files(&[("a", "1"), ("z", "a file where a folder is wanted")])).unwrap();
        let before = found(dir.path());
        let error =
            tree(dir.path(), files(&[("a", "2"), ("new/deep/b", "3"), ("z/below", "4")])).unwrap_err();
        assert!(error.to_string().contains("z/below"), "{error}");
        assert_eq!(found(dir.path()), before);
    }

    #[test]
    fn what_was_renamed_is_taken_back() {
        let dir = tempfile::tempdir().unwrap();
        tree(dir.path(), files(&[("a", "1"), ("gone", "2")])).unwrap();
        let before = found(dir.path());
        let mut undo = Undo::default();
        for (name, text) in [("a", "new"), ("deep/er/b", "new")] {
            let path = dir.path().join(name);
            undo.will_create_folders(&path);
            undo.will_replace(&path).unwrap();
            super::super::file(&path, text.as_bytes()).unwrap();
        }
        undo.will_replace(&dir.path().join("gone")).unwrap();
        fs::remove_file(dir.path().join("gone")).unwrap();
        drop(undo);
        assert_eq!(found(dir.path()), before);
    }

    #[test]
    fn paths_stay_in_their_folder() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["../out", "/etc/x", "a/../../out", "", "a/"] {
            assert!(tree(dir.path(), files(&[(name, "x")])).is_err(), "{name:?} was accepted");
        }
        assert!(found(dir.path()).is_empty());
    }
}
