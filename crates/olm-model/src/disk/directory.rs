//! The one reader of directories that others fill: bundles, catalogs, plain manifests, must-gathers, operators.
//!
//! A symbolic link in such a directory may point at a file of the user that runs the program, such as their credentials,
//! which then shows up in an excerpt, an image or a log of CI. Everything in a [`Directory`] is therefore opened beneath it: by
//! the kernel (`openat2` of Linux 5.6 with `RESOLVE_BENEATH`), or one component after the other without following links, so
//! that nothing can be swapped between a check and the opening (except on Windows, which has neither). Links that stay in the directory are followed, relative
//! and absolute ones; others are [`Unreadable::LeavesDirectory`].

use std::fs::{self, File, Metadata};
use std::path::{Component, Path, PathBuf};

use super::error::WalkError;
use super::regular;
use super::sys;
use crate::read::Unreadable;

/// A directory whose files are opened beneath it.
#[derive(Debug)]
pub struct Directory {
    /// The path, as it was named.
    path: PathBuf,
    /// The directory itself.
    pub(crate) root: sys::Root,
}

impl Directory {
    /// Opens a directory. The path is the user's: it may lead through links.
    ///
    /// # Errors
    /// There is no such directory, or it cannot be opened.
    pub fn open(path: &Path) -> Result<Self, WalkError> {
        let failed = |source| WalkError::Io { path: path.to_owned(), source };
        let real = fs::canonicalize(path).map_err(failed)?;
        if !fs::metadata(&real).map_err(failed)?.is_dir() {
            return Err(WalkError::NotADirectory { path: path.to_owned() });
        }
        Ok(Self { path: path.to_owned(), root: sys::Root::open(real).map_err(failed)? })
    }

    /// Opens a directory in this one, which bounds what is in it.
    ///
    /// # Errors
    /// There is no such directory, or a link to it leads out of this one.
    pub fn directory(&self, name: impl AsRef<Path>) -> Result<Self, Unreadable> {
        let name = checked_name(name.as_ref())?;
        Ok(Self { path: self.path.join(name), root: self.root.below(name)? })
    }

    /// Returns the path of the directory, as it was named.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the regular file `name`, a path below the directory.
    ///
    /// # Errors
    /// There is no such file, it is not a regular file, or a link leads out of the directory.
    pub fn file(&self, name: impl AsRef<Path>) -> Result<(File, Metadata), Unreadable> {
        let name = checked_name(name.as_ref())?;
        // No device sees an open.
        regular::check_type(self.root.metadata(name)?.file_type())?;
        regular::checked(self.root.file(name)?)
    }

    /// Reads the regular file `name`, a path below the directory, if it is at most `limit` bytes long.
    ///
    /// # Errors
    /// As for [`Self::file`]; or the file is longer.
    pub fn read(&self, name: impl AsRef<Path>, limit: u64) -> Result<Vec<u8>, Unreadable> {
        regular::whole(self.file(name)?, limit)
    }

    /// Returns whether `name`, a path below the directory, is a directory, or a link to one that stays in this directory.
    #[must_use]
    pub fn has_directory(&self, name: impl AsRef<Path>) -> bool {
        let metadata = checked_name(name.as_ref()).and_then(|name| self.root.metadata(name));
        metadata.is_ok_and(|metadata| metadata.is_dir())
    }
}

/// Returns a path that leads down only.
fn checked_name(name: &Path) -> Result<&Path, Unreadable> {
    let is_below = name.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if is_below { Ok(name) } else { Err(Unreadable::LeavesDirectory) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A directory `d` beside a secret.
    fn scratch() -> (tempfile::TempDir, PathBuf) {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        fs::create_dir_all(at("d/sub/deep")).unwrap();
        fs::create_dir(at("outside")).unwrap();
        fs::write(at("secret"), "secret").unwrap();
        fs::write(at("outside/file"), "secret").unwrap();
        fs::write(at("d/file"), "1").unwrap();
        fs::write(at("d/sub/file"), "2").unwrap();
        let directory = at("d");
        (scratch, directory)
    }

    /// What is read, by the kernel and by the fallback.
    fn read(directory: &Path, name: &str) -> Result<Vec<u8>, Unreadable> {
        let mut directory = Directory::open(directory).unwrap();
        let fast = directory.read(name, 100);
        directory.root.without_kernel();
        let slow = directory.read(name, 100);
        assert_eq!(format!("{fast:?}"), format!("{slow:?}"), "{name}");
        slow
    }

    #[test]
    fn links_within_the_directory_are_followed() {
        let (_scratch, directory) = scratch();
        symlink("../file", directory.join("sub/up")).unwrap();
        symlink(directory.join("sub/file"), directory.join("absolute")).unwrap();
        symlink("sub/deep/..", directory.join("dir")).unwrap();
        symlink("../d/file", directory.join("around")).unwrap();
        symlink("sub/up", directory.join("twice")).unwrap();
        for (name, text) in [
            ("sub/up", "1"),
            ("absolute", "2"),
            ("dir/file", "2"),
            ("around", "1"),
            ("twice", "1"),
            ("./sub/./file", "2"),
        ] {
            assert_eq!(read(&directory, name).unwrap(), text.as_bytes(), "{name}");
        }
        let by_link = directory.with_file_name("link");
        symlink("d", &by_link).unwrap();
        assert_eq!(read(&by_link, "absolute").unwrap(), b"2");
        let sub = Directory::open(&directory).unwrap().directory("dir").unwrap();
        assert_eq!(sub.read("file", 100).unwrap(), b"2");
        assert!(matches!(sub.read("up", 100), Err(Unreadable::LeavesDirectory)));
    }

    #[test]
    fn links_out_of_the_directory_are_reported() {
        let (scratch, directory) = scratch();
        symlink("../secret", directory.join("relative")).unwrap();
        symlink(scratch.path().join("secret"), directory.join("absolute")).unwrap();
        symlink("../outside", directory.join("dir")).unwrap();
        symlink("dir/file", directory.join("twice")).unwrap();
        symlink("/proc/self/environ", directory.join("environ")).unwrap();
        symlink("/dev/zero", directory.join("zero")).unwrap();
        // A name that the directory's is the beginning of.
        fs::write(scratch.path().join("d2"), "secret").unwrap();
        symlink("../d2", directory.join("sibling")).unwrap();
        for name in [
            "relative",
            "absolute",
            "dir/file",
            "twice",
            "environ",
            "zero",
            "sibling",
            "../secret",
            "/etc/passwd",
        ] {
            let found = read(&directory, name);
            assert!(matches!(found, Err(Unreadable::LeavesDirectory)), "{name}: {found:?}");
        }
        let opened = Directory::open(&directory).unwrap();
        assert!(opened.directory("dir").is_err() && !opened.has_directory("dir"));
        assert!(opened.has_directory("sub/deep") && !opened.has_directory("file"));
    }

    #[test]
    fn loops_and_missing_files_are_errors_of_the_input() {
        let (_scratch, directory) = scratch();
        symlink("loop", directory.join("loop")).unwrap();
        symlink("nowhere", directory.join("dangling")).unwrap();
        for name in ["loop", "dangling", "none"] {
            let error = read(&directory, name).unwrap_err();
            assert!(matches!(error, Unreadable::Io(_)) && !error.is_environment(), "{name}: {error}");
        }
        assert!(matches!(read(&directory, "sub"), Err(Unreadable::NotRegular("a directory"))));
    }
}
