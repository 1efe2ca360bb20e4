//! Reading one file: only regular files, and never more than a stated number of bytes.
//!
//! The paths here are those that the user names. Files of a directory that others fill are read through
//! [`Directory`], which does not follow links out of it; so are files of the user's project ([`read_in_project`]),
//! because a pull request may have put the link there.
//!
//! A path may name a FIFO that nobody writes to, a device that never ends or a file of the kernel that blocks. The type
//! is therefore checked before opening (so that no device sees an open) and again on the open file (so that a swapped
//! path makes no difference), and files are opened without blocking.

use std::fs::{self, File, Metadata};
use std::path::{Component, Path, PathBuf};

use super::directory::Directory;
use super::regular::{check_type, checked, whole};
use super::sys;
use crate::read::Unreadable;

/// Reads the regular file at `path`, through links, if it is at most `limit` bytes long.
///
/// # Errors
/// The file cannot be opened or read, is not a regular file, or is longer.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>, Unreadable> {
    whole(open(path)?, limit)
}

/// Reads a file of a project: as [`read`], but a link that leads out of the project is an error.
///
/// The project is the git repository that the file is in. Without one, it is the current directory, if the file is below it;
/// any other file is the user's own.
///
/// # Errors
/// As for [`read`], and [`Unreadable::LeavesDirectory`].
pub fn read_in_project(path: &Path, limit: u64) -> Result<Vec<u8>, Unreadable> {
    whole(open_in_project(path)?, limit)
}

/// Opens a file of a project, as [`read_in_project`] does.
pub(crate) fn open_in_project(path: &Path) -> Result<(File, Metadata), Unreadable> {
    let current = std::env::current_dir()?;
    let path = normalized(&current.join(path));
    let repository = path.ancestors().skip(1).find(|directory| directory.join(".git").exists());
    match repository.or_else(|| path.starts_with(&current).then_some(current.as_path())) {
        Some(root) => Directory::open(root)?.file(path.strip_prefix(root).unwrap_or(&path)),
        None => open(&path),
    }
}

/// Reads a file that the file `named_in` of a project names: `name` is relative to it. As [`read_in_project`], but a file outside of
/// the project is an error, because the text that names it may come from a pull request. Without a git repository, the project is the
/// directory of `named_in`, or the current one if that is above it.
///
/// # Errors
/// As for [`read`], and [`Unreadable::LeavesDirectory`].
pub fn read_named(named_in: &Path, name: &Path, limit: u64) -> Result<Vec<u8>, Unreadable> {
    let current = std::env::current_dir()?;
    let named_in = normalized(&current.join(named_in));
    let directory = named_in.parent().unwrap_or(&current);
    let repository = directory.ancestors().find(|directory| directory.join(".git").exists());
    let root = repository.unwrap_or(if directory.starts_with(&current) { &current } else { directory });
    match normalized(&directory.join(name)).strip_prefix(root) {
        Ok(name) => Directory::open(root)?.read(name, limit),
        Err(_) => Err(Unreadable::LeavesDirectory),
    }
}

/// Reads the file `name` of the directory `root`: as [`Directory::read`]. If `root` is a file, it is read itself.
///
/// # Errors
/// As for [`Directory::read`].
pub fn read_below(root: &Path, name: impl AsRef<Path>, limit: u64) -> Result<Vec<u8>, Unreadable> {
    match Directory::open(root) {
        Ok(directory) => directory.read(name, limit),
        Err(_) if root.is_file() => read_in_project(root, limit),
        Err(error) => Err(error.into()),
    }
}

/// Reads an open file to its end if it is at most `limit` bytes long.
///
/// # Errors
/// The file cannot be read, or is longer.
pub fn read_open(file: File, limit: u64) -> Result<Vec<u8>, Unreadable> {
    whole(checked(file)?, limit)
}

/// Opens the regular file at `path`, through links, for reading.
///
/// # Errors
/// The file cannot be opened or is not a regular file.
pub fn open(path: &Path) -> Result<(File, Metadata), Unreadable> {
    check_type(fs::metadata(path)?.file_type())?;
    checked(sys::open_file(path)?)
}

/// Returns a path without `.`, and without names that `..` follows, whether these are links or not.
#[must_use]
pub fn normalized(path: &Path) -> PathBuf {
    let mut normalized = PathBuf::new();
    for component in path.components() {
        match (component, normalized.components().next_back()) {
            (Component::CurDir, _)
            | (Component::ParentDir, Some(Component::RootDir | Component::Prefix(_))) => {}
            (Component::ParentDir, Some(Component::Normal(_))) => {
                normalized.pop();
            }
            (other, _) => normalized.push(other),
        }
    }
    normalized
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_the_limit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        fs::write(&path, "12345").unwrap();
        assert_eq!(read(&path, 5).unwrap(), b"12345");
        assert!(matches!(read(&path, 4), Err(Unreadable::TooLarge(4))));
        assert!(matches!(read(dir.path(), 5), Err(Unreadable::NotRegular("a directory"))));
        assert_eq!(read_below(dir.path(), "a", 5).unwrap(), b"12345");
        assert_eq!(read_below(&path, "a", 5).unwrap(), b"12345");
        assert!(read_below(&dir.path().join("none"), "a", 5).unwrap_err().is_missing());
    }

    #[test]
    fn files_that_are_not_regular_are_not_opened() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert!(matches!(read(&socket, 5), Err(Unreadable::NotRegular("a socket"))));
        for device in ["/dev/zero", "/dev/null"] {
            assert!(matches!(read(Path::new(device), 5), Err(Unreadable::NotRegular("a device"))));
        }
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("link", &link).unwrap();
        let error = read(&link, 5).unwrap_err();
        assert!(matches!(error, Unreadable::Io(_)) && !error.is_environment(), "{error}");
    }

    #[test]
    fn link_out_of_a_project_is_an_error_and_one_within_it_is_followed() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir_all(at("project/.git")).unwrap();
        fs::create_dir_all(at("project/config")).unwrap();
        fs::write(at("secret"), "secret").unwrap();
        fs::write(at("project/shared"), "shared").unwrap();
        symlink("../shared", at("project/config/inside")).unwrap();
        symlink("../../secret", at("project/config/outside")).unwrap();
        symlink("secret", at("own")).unwrap();
        assert_eq!(read_in_project(&at("project/config/../config/inside"), 9).unwrap(), b"shared");
        let outside = read_in_project(&at("project/config/outside"), 9);
        assert!(matches!(outside, Err(Unreadable::LeavesDirectory)), "{outside:?}");
        assert_eq!(read_in_project(&at("own"), 9).unwrap(), b"secret");
    }
}
