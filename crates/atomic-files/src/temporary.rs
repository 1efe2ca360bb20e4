//! Temporary files and directories: their names, the locks that show that their process is alive, and the removal of
//! those that killed processes left behind.

use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::sys;

/// Prefix of the names of all temporary files and directories that this crate creates.
const PREFIX: &str = ".atomic-files-";

/// The name of the journal in a temporary directory.
pub(crate) const JOURNAL: &str = "journal";

/// How many names are tried before giving up.
const MAX_ATTEMPTS: u32 = 100;

/// Returns whether a file name is that of a temporary file or directory of this crate.
///
/// A process that is killed leaves them behind until the next run removes them: whatever reads a directory that this
/// crate writes skips them.
#[must_use]
pub fn is_temporary(name: impl AsRef<OsStr>) -> bool {
    name.as_ref().as_encoded_bytes().starts_with(PREFIX.as_bytes())
}

/// A temporary file or directory, removed on drop. The lock on its handle shows other processes that it is in use.
#[derive(Debug)]
pub(crate) struct Temporary {
    path: PathBuf,
    /// `None` if the file system has no locks.
    _lock: Option<sys::Lock>,
    handle: File,
    keep: bool,
}

impl Temporary {
    /// Creates a file in `directory` with mode 0666 less the umask.
    pub(crate) fn file(directory: &Path) -> io::Result<Self> {
        Self::create(directory, sys::create_file)
    }

    /// Creates a directory in `directory` that only its owner can enter.
    pub(crate) fn directory(directory: &Path) -> io::Result<Self> {
        Self::create(directory, |path| {
            sys::create_private_directory(path)?;
            sys::open_directory(path)
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
            let lock = match sys::lock(&handle, &path) {
                Err(TryLockError::WouldBlock) => continue,
                lock => lock.ok(),
            };
            if sys::is_same(&handle, &path) {
                return Ok(Self { path, _lock: lock, handle, keep: false });
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

    /// Leaves it to the next run, or to whoever has it under another name.
    pub(crate) fn keep(mut self) {
        self.keep = true;
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
    format!("{PREFIX}{:x}-{time:x}-{count:x}", std::process::id())
}

/// Removes from `directory` what killed processes left behind. What a live process uses is locked, and stays. So does a
/// directory with a journal, which is for whoever locks `directory`.
///
/// Errors are ignored: a leftover is not read by anything, and the next run tries again.
pub(crate) fn remove_leftovers(directory: &Path) {
    for leftover in leftovers(directory) {
        if fs::symlink_metadata(leftover.path.join(JOURNAL)).is_err() {
            remove(&leftover.path);
        }
    }
}

/// Something that a killed process left behind, locked so that no other process takes care of it as well.
#[derive(Debug)]
pub(crate) struct Leftover {
    pub(crate) path: PathBuf,
    _lock: sys::Lock,
    _handle: File,
}

/// Iterates over what killed processes left in `directory`.
pub(crate) fn leftovers(directory: &Path) -> impl Iterator<Item = Leftover> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter(|entry| is_temporary(entry.file_name())).filter_map(|entry| {
        let path = entry.path();
        // Nothing that somebody gave such a name blocks or is followed elsewhere.
        let handle = sys::open_regular(&path).ok()?;
        let lock = sys::lock(&handle, &path).ok()?;
        sys::is_same(&handle, &path).then_some(Leftover { path, _lock: lock, _handle: handle })
    })
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
            sys::make_removable(&directory);
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
