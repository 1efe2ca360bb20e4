//! Linux and other Unix systems.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::{CWD, OFlags, RenameFlags, XattrFlags};

/// The maximum number of bytes of a list of extended attributes, and of the value of one: Linux's own limit.
const MAX_ATTRIBUTE: usize = 64 << 10;

/// The bits that let a file run as its owner or group.
const SET_ID: u32 = 0o6000;

/// Opens a directory, to lock it and to flush it.
pub(crate) fn open_directory(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// A lock. It belongs to the handle and is held until that one is closed.
#[derive(Debug)]
pub(crate) struct Lock;

/// Locks what `handle` is open on: the file or the directory `path`.
pub(crate) fn lock(handle: &File, _path: &Path) -> Result<Lock, TryLockError> {
    handle.try_lock().map(|()| Lock)
}

/// Creates a file with mode 0666 less the umask. It must not exist.
pub(crate) fn create_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o666).open(path)
}

/// Creates a directory that only its owner can enter.
pub(crate) fn create_private_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

/// Opens a file or a directory for reading, without following a link and without waiting for a FIFO.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// Opens a device or a pipe for writing. A FIFO without a reader is an error at once instead of a wait for one.
pub(crate) fn open_special(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = OpenOptions::new().write(true).custom_flags(flags).open(path)?;
    let flags = rustix::fs::fcntl_getfl(&file)?;
    rustix::fs::fcntl_setfl(&file, flags - OFlags::NONBLOCK)?;
    Ok(file)
}

/// Returns whether `path` still names the file or directory that `handle` is open on.
pub(crate) fn is_same(handle: &File, path: &Path) -> bool {
    match (handle.metadata(), fs::symlink_metadata(path)) {
        (Ok(open), Ok(named)) => (open.dev(), open.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}

/// Exchanges two files in one step. Both must exist.
///
/// # Errors
///
/// [`io::ErrorKind::Unsupported`] if the file system cannot do that.
pub(crate) fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    rename_with(one, other, RenameFlags::EXCHANGE)
}

/// Renames a file to a name that does not exist, in one step.
///
/// # Errors
///
/// [`io::ErrorKind::AlreadyExists`] if something has that name.
pub(crate) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match rename_with(from, to, RenameFlags::NOREPLACE) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => rename_new_by_link(from, to),
        result => result,
    }
}

/// As [`rename_new`], for file systems without that kind of rename.
fn rename_new_by_link(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Ok(()) => fs::remove_file(from),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // Neither has every file system hard links: a name that appears between these two calls is overwritten.
        Err(_) if fs::symlink_metadata(to).is_ok() => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(from, to),
    }
}

fn rename_with(from: &Path, to: &Path, flags: RenameFlags) -> io::Result<()> {
    use io::ErrorKind as Kind;
    match rustix::fs::renameat_with(CWD, from, CWD, to, flags).map_err(io::Error::from) {
        // `EINVAL`: the file system does not know the flag. `ENOSYS`: the kernel does not.
        Err(error) if matches!(error.kind(), Kind::InvalidInput | Kind::Unsupported) => {
            Err(Kind::Unsupported.into())
        }
        result => result,
    }
}

/// Flushes the file at `path`.
pub(crate) fn sync_file(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Flushes an open directory.
pub(crate) fn sync_handle(directory: &File) -> io::Result<()> {
    directory.sync_all()
}

/// Makes renames in `directory` survive a power failure, on file systems that support it.
pub(crate) fn sync_directory(directory: &Path) {
    if let Ok(directory) = File::open(directory) {
        let _ = directory.sync_all();
    }
}

/// Flushes the whole file system that `handle` is on. Returns `false` if the system cannot do that.
pub(crate) fn sync_file_system(handle: &File) -> io::Result<bool> {
    #[cfg(target_os = "linux")]
    {
        rustix::fs::syncfs(handle)?;
        Ok(true)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = handle;
        Ok(false)
    }
}

/// Makes a file readable and writable by its owner only.
pub(crate) fn set_private(file: &File) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(0o600))
}

/// Gives `to` the mode of `from` and, as far as the system lets this process, its owner, group and extended attributes
/// (which include access control lists and security labels).
///
/// Without its owner, the file does not keep the bits that let it run as its owner or group.
pub(crate) fn copy_attributes(from: &File, to: &File) -> io::Result<()> {
    let (old, new) = (from.metadata()?, to.metadata()?);
    let mut mode = old.mode() & 0o7777;
    let is_kept = (old.uid(), old.gid()) == (new.uid(), new.gid())
        || std::os::unix::fs::fchown(to, Some(old.uid()), Some(old.gid())).is_ok();
    if !is_kept {
        mode &= !SET_ID;
        // The group alone can be kept by a member of it.
        let _ = std::os::unix::fs::fchown(to, None, Some(old.gid()));
    }
    // After the owner: a change of owner clears bits of the mode.
    to.set_permissions(Permissions::from_mode(mode))?;
    copy_extended_attributes(from, to);
    Ok(())
}

fn copy_extended_attributes(from: &File, to: &File) {
    let mut names = vec![0; MAX_ATTRIBUTE];
    let Ok(length) = rustix::fs::flistxattr(from, names.as_mut_slice()) else { return };
    let mut value = vec![0; MAX_ATTRIBUTE];
    for name in names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let Ok(length) = rustix::fs::fgetxattr(from, name, value.as_mut_slice()) else { continue };
        // Some can be set by root only, and some by nobody.
        let _ = rustix::fs::fsetxattr(to, name, &value[..length], XattrFlags::empty());
    }
}

/// Gives a file the group of `directory` if new files in that directory get it.
pub(crate) fn inherit_group(directory: &Path, file: &File) {
    const SET_GROUP: u32 = 0o2000;
    let Ok(metadata) = fs::metadata(directory) else { return };
    if metadata.mode() & SET_GROUP != 0 {
        let _ = std::os::unix::fs::fchown(file, None, Some(metadata.gid()));
    }
}

/// Lets the owner of a directory remove what is in it.
pub(crate) fn make_removable(directory: &Path) {
    let _ = fs::set_permissions(directory, Permissions::from_mode(0o700));
}

/// Returns `None`: every name is that of one file.
pub(crate) fn invalid_name(_name: &OsStr) -> Option<&'static str> {
    None
}

/// Returns the path as messages name it: as it is.
pub(crate) fn shown(path: &Path) -> &Path {
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rename_new_never_overwrites() {
        for rename in [rename_new, rename_new_by_link] {
            let dir = tempfile::tempdir().unwrap();
            let at = |name: &str| dir.path().join(name);
            fs::write(at("from"), "1").unwrap();
            fs::write(at("to"), "2").unwrap();
            assert_eq!(rename(&at("from"), &at("to")).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
            fs::remove_file(at("to")).unwrap();
            rename(&at("from"), &at("to")).unwrap();
            assert!(!at("from").exists());
            assert_eq!(fs::read(at("to")).unwrap(), b"1");
        }
    }

    #[test]
    fn copied_attributes_include_owner_mode_and_extended_attributes() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let (old, new) = (create_file(&at("old")).unwrap(), create_file(&at("new")).unwrap());
        let has_attributes = rustix::fs::fsetxattr(&old, "user.note", b"kept", XattrFlags::empty()).is_ok();
        // Only root can give a file away.
        let is_root = std::os::unix::fs::fchown(&old, Some(12_345), Some(54_321)).is_ok();
        old.set_permissions(Permissions::from_mode(0o4751)).unwrap();
        copy_attributes(&old, &new).unwrap();
        let metadata = new.metadata().unwrap();
        assert_eq!(metadata.mode() & 0o7777, 0o4751);
        if is_root {
            assert_eq!((metadata.uid(), metadata.gid()), (12_345, 54_321));
        }
        if has_attributes {
            let mut value = [0; 16];
            let length = rustix::fs::fgetxattr(&new, "user.note", &mut value[..]).unwrap();
            assert_eq!(&value[..length], b"kept");
        }
    }
}
