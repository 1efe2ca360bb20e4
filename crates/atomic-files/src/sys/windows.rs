//! Windows.
//!
//! A file that is written gets the access control list that its directory gives to new files: nothing else can be done without
//! unsafe code. What must not depend on it is an error: a file that only its owner may read, and a read-only file to replace.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::os::windows::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// `FILE_FLAG_BACKUP_SEMANTICS`, without which no directory can be opened.
const BACKUP_SEMANTICS: u32 = 0x0200_0000;
/// `FILE_FLAG_OPEN_REPARSE_POINT`: a link is opened instead of followed.
const OPEN_LINK: u32 = 0x0020_0000;
/// `ERROR_ACCESS_DENIED`: among others, the file is being deleted.
const ACCESS_DENIED: i32 = 5;

/// The short names of the directories of version control systems, such as `GIT~1` for `.git`.
const SHORT_NAMES: &[&str] = &["git~", "hg~", "jj~", "svn~"];
/// The names of devices, with any extension.
const DEVICES: &[&str] = &["con", "prn", "aux", "nul"];

/// Opens a directory, to lock it and to compare it.
pub(crate) fn open_directory(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(BACKUP_SEMANTICS).open(path)
}

/// A lock, held until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    /// The lock file of a directory. The lock on a file belongs to its handle.
    _file: Option<LockFile>,
}

/// Locks what `handle` is open on: the file or the directory `path`.
///
/// Windows cannot lock directories. The lock on one is a lock file in the directory for temporary files, which is the user's own:
/// it does not exclude processes of other users.
pub(crate) fn lock(handle: &File, path: &Path) -> Result<Lock, TryLockError> {
    if handle.metadata().map_err(TryLockError::Error)?.is_dir() {
        let file = LockFile::acquire(path)?;
        return Ok(Lock { _file: Some(file) });
    }
    handle.try_lock()?;
    Ok(Lock { _file: None })
}

/// The lock file of a directory, which exists as long as the lock is held.
#[derive(Debug)]
struct LockFile {
    path: PathBuf,
    _handle: File,
}

impl LockFile {
    fn acquire(directory: &Path) -> Result<Self, TryLockError> {
        let mut hasher = DefaultHasher::new();
        fs::canonicalize(directory).map_err(TryLockError::Error)?.hash(&mut hasher);
        let path = std::env::temp_dir().join(format!("atomic-files-{:016x}.lock", hasher.finish()));
        let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let handle = match options {
            Ok(handle) => handle,
            // The process that held the lock is deleting the file.
            Err(error) if error.raw_os_error() == Some(ACCESS_DENIED) => {
                return Err(TryLockError::WouldBlock);
            }
            Err(error) => return Err(TryLockError::Error(error)),
        };
        handle.try_lock()?;
        // The process that held the lock has deleted the file meanwhile.
        if !is_same(&handle, &path) {
            return Err(TryLockError::WouldBlock);
        }
        Ok(Self { path, _handle: handle })
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        // While it is locked. A lock file that stays is used again.
        let _ = fs::remove_file(&self.path);
    }
}

/// Creates a file. It must not exist.
pub(crate) fn create_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).open(path)
}

/// Creates a directory with the access control list that its parent gives it, as every file that comes out of it gets.
pub(crate) fn create_private_directory(path: &Path) -> io::Result<()> {
    fs::create_dir(path)
}

/// Opens a file or a directory for reading, without following a link.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(BACKUP_SEMANTICS | OPEN_LINK).open(path)?;
    if file.metadata()?.is_symlink() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a symbolic link"));
    }
    Ok(file)
}

/// Opens a device or a pipe for writing.
pub(crate) fn open_special(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).open(path)
}

/// Returns whether `path` still names the file or directory that `handle` is open on.
pub(crate) fn is_same(handle: &File, path: &Path) -> bool {
    let is_link = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink());
    let open = handle.try_clone().and_then(same_file::Handle::from_file);
    match (open, same_file::Handle::from_path(path)) {
        (Ok(open), Ok(named)) => !is_link && open == named,
        _ => false,
    }
}

/// Always fails, as the system cannot exchange files.
pub(crate) fn exchange(_one: &Path, _other: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Renames a file to a name that does not exist.
///
/// # Errors
///
/// [`io::ErrorKind::AlreadyExists`] if something has that name.
pub(crate) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Ok(()) => fs::remove_file(from),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // Not every file system has hard links (FAT): a name that appears between these two calls is overwritten.
        Err(_) if fs::symlink_metadata(to).is_ok() => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(from, to),
    }
}

/// Flushes the file at `path`, for which the system requires that it is open for writing.
pub(crate) fn sync_file(path: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.sync_all()
}

/// Does nothing: the system cannot flush a directory, and logs its changes.
#[expect(clippy::unnecessary_wraps, reason = "other systems report errors")]
pub(crate) fn sync_handle(_directory: &File) -> io::Result<()> {
    Ok(())
}

/// Does nothing: the system cannot flush a directory, and logs its changes.
pub(crate) fn sync_directory(_directory: &Path) {}

/// Returns `false`: the system flushes a file system for administrators only.
#[expect(clippy::unnecessary_wraps, reason = "other systems report errors")]
pub(crate) fn sync_file_system(_handle: &File) -> io::Result<bool> {
    Ok(false)
}

/// Always fails.
pub(crate) fn set_private(_file: &File) -> io::Result<()> {
    let reason = "files that only their owner can read are not supported on Windows";
    Err(io::Error::new(io::ErrorKind::Unsupported, reason))
}

/// Fails if `from` is read-only. The new file has the attributes and the access control list of any new file.
pub(crate) fn copy_attributes(from: &File, _to: &File) -> io::Result<()> {
    if from.metadata()?.permissions().readonly() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only"));
    }
    Ok(())
}

/// Does nothing: files have no group.
pub(crate) fn inherit_group(_directory: &Path, _file: &File) {}

/// Does nothing: directories have no mode.
pub(crate) fn make_removable(_directory: &Path) {}

/// Returns why the system would take this part of a path for something else than a file with this name.
pub(crate) fn invalid_name(name: &OsStr) -> Option<&'static str> {
    let Some(name) = name.to_str() else { return Some("the name is not valid Unicode") };
    let name = name.to_ascii_lowercase();
    if name.contains(|c: char| c.is_ascii_control() || r#"<>:"|?*\"#.contains(c)) {
        return Some("Windows reserves a character in the name");
    }
    if name.ends_with(['.', ' ']) {
        return Some("on Windows, a name must not end with a period or a space");
    }
    if SHORT_NAMES.iter().any(|short| name.starts_with(short)) {
        return Some("on Windows, the name may be the short one of a directory of version control");
    }
    let stem = name.split('.').next().unwrap_or_default().trim_end();
    let is_device = DEVICES.contains(&stem)
        || stem
            .strip_suffix(|c: char| c.is_ascii_digit() || "¹²³".contains(c))
            .is_some_and(|stem| matches!(stem, "com" | "lpt"));
    is_device.then_some("on Windows, the name is that of a device")
}

/// Returns the path as messages name it: without the prefix that [`fs::canonicalize`] adds to a drive.
pub(crate) fn shown(path: &Path) -> &Path {
    let rest = path.to_str().and_then(|path| path.strip_prefix(r"\\?\"));
    rest.filter(|rest| rest.as_bytes().get(1) == Some(&b':')).map_or(path, Path::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_windows_resolves_to_others_are_invalid() {
        for name in ["a:b", "a ", ".git.", "GIT~1", "NUL", "nul.txt", "com1.yaml", "a\\b", "LPT²"] {
            assert!(invalid_name(OsStr::new(name)).is_some(), "{name}");
        }
        for name in ["a.yaml", "console", "nullable", "common.yaml", "a~b", ".gitignore"] {
            assert_eq!(invalid_name(OsStr::new(name)), None, "{name}");
        }
    }

    #[test]
    fn paths_are_shown_without_a_prefix() {
        assert_eq!(shown(Path::new(r"\\?\C:\a")).to_str(), Some(r"C:\a"));
        assert_eq!(shown(Path::new(r"\\?\UNC\server\a")).to_str(), Some(r"\\?\UNC\server\a"));
    }

    #[test]
    fn a_directory_is_locked_once() {
        let dir = tempfile::tempdir().unwrap();
        let handle = open_directory(dir.path()).unwrap();
        let held = lock(&handle, dir.path()).unwrap();
        assert!(matches!(lock(&handle, dir.path()), Err(TryLockError::WouldBlock)));
        drop(held);
        lock(&handle, dir.path()).unwrap();
    }
}
