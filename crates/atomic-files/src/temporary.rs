//! Temporary files and directories: their names, the locks that show that their process is alive, and the removal of
//! those that killed processes left behind.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::OFlags;

/// Prefix of the names of all temporary files and directories that this crate creates.
pub const TEMPORARY_PREFIX: &str = ".atomic-files-";

/// What follows the prefix where a directory was moved away that another one replaces; its own name follows.
const DISPLACED: &str = "displaced-";

/// How many names are tried before giving up.
const MAX_ATTEMPTS: u32 = 100;

/// Returns whether a file name is that of a temporary file or directory of this crate.
///
/// A process that is killed leaves them behind until the next run removes them: whatever reads a directory that this
/// crate writes skips them.
#[must_use]
pub fn is_temporary(name: impl AsRef<OsStr>) -> bool {
    name.as_ref().as_encoded_bytes().starts_with(TEMPORARY_PREFIX.as_bytes())
}

/// A temporary file or directory, removed on drop. The lock on its handle shows other processes that it is in use.
#[derive(Debug)]
pub(crate) struct Temporary {
    path: PathBuf,
    handle: File,
    keep: bool,
}

impl Temporary {
    /// Creates a file in `directory` with mode 0666 less the umask.
    pub(crate) fn file(directory: &Path) -> io::Result<Self> {
        Self::create(directory, |path| {
            OpenOptions::new().read(true).write(true).create_new(true).mode(0o666).open(path)
        })
    }

    /// Creates a directory in `directory` that only its owner can enter.
    pub(crate) fn directory(directory: &Path) -> io::Result<Self> {
        Self::create(directory, |path| {
            fs::DirBuilder::new().mode(0o700).create(path)?;
            File::open(path)
        })
    }

    fn create(directory: &Path, create: impl Fn(&Path) -> io::Result<File>) -> io::Result<Self> {
        let mut last = io::ErrorKind::AlreadyExists.into();
        for _ in 0..MAX_ATTEMPTS {
            let path = directory.join(unique_name());
            let handle = match create(&path) {
                Ok(handle) => handle,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    last = error;
                    continue;
                }
                Err(error) => return Err(error),
            };
            // A process that removes leftovers may have locked it before this one did.
            if !matches!(handle.try_lock(), Err(TryLockError::WouldBlock)) && is_same(&handle, &path) {
                return Ok(Self { path, handle, keep: false });
            }
        }
        Err(last)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn handle(&self) -> &File {
        &self.handle
    }

    /// Gives up the name, which belongs to something else now, and returns the handle with its lock.
    pub(crate) fn into_handle(mut self) -> io::Result<File> {
        self.keep = true;
        self.handle.try_clone()
    }

    /// Renames the file to `destination`.
    pub(crate) fn persist(mut self, destination: &Path) -> io::Result<()> {
        fs::rename(&self.path, destination)?;
        self.keep = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.keep {
            remove(&self.path);
        }
    }
}

fn unique_name() -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    format!("{TEMPORARY_PREFIX}{:x}-{time:x}-{count:x}", std::process::id())
}

/// Returns whether `path` still names the file or directory that `handle` is open on.
pub(crate) fn is_same(handle: &File, path: &Path) -> bool {
    match (handle.metadata(), fs::symlink_metadata(path)) {
        (Ok(open), Ok(named)) => (open.dev(), open.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}

/// Returns the path to which the directory `target` is moved while another one takes its place.
pub(crate) fn displaced(target: &Path) -> Option<PathBuf> {
    let mut name = std::ffi::OsString::from(format!("{TEMPORARY_PREFIX}{DISPLACED}"));
    name.push(target.file_name()?);
    Some(target.with_file_name(name))
}

/// Removes from `directory` what killed processes left behind. What a live process uses is locked, and stays.
///
/// Errors are ignored: a leftover is not read by anything, and the next run tries again.
pub(crate) fn remove_leftovers(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if !is_temporary(&name) {
            continue;
        }
        // A directory that was moved away and not replaced is the only copy: `DirectoryLock` moves it back.
        let replaced_by = name
            .as_encoded_bytes()
            .strip_prefix(TEMPORARY_PREFIX.as_bytes())
            .and_then(|rest| rest.strip_prefix(DISPLACED.as_bytes()))
            .map(|rest| directory.join(<OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(rest)));
        if replaced_by.is_some_and(|target| fs::symlink_metadata(target).is_err()) {
            continue;
        }
        let path = entry.path();
        // Never waits for a FIFO or follows a link that somebody gave such a name.
        let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
        let Ok(handle) = OpenOptions::new().read(true).custom_flags(flags).open(&path) else { continue };
        if handle.try_lock().is_ok() && is_same(&handle, &path) {
            remove(&path);
        }
    }
}

/// Removes a file, or a directory with everything in it, as far as the system allows it. Links are not followed.
pub(crate) fn remove(path: &Path) {
    let Ok(metadata) = fs::symlink_metadata(path) else { return };
    if !metadata.is_dir() {
        let _ = fs::remove_file(path);
    } else if fs::remove_dir_all(path).is_err() {
        // Entries of a directory without write permission can only be removed once it has it.
        let mut pending = vec![path.to_owned()];
        while let Some(directory) = pending.pop() {
            let _ = fs::set_permissions(&directory, fs::Permissions::from_mode(0o700));
            let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
            pending.extend(
                entries
                    .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
                    .map(|entry| entry.path()),
            );
        }
        let _ = fs::remove_dir_all(path);
    }
}
