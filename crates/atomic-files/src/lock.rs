//! Exclusive locks on directories, between processes, and trees that are written under them.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::expected::Expected;
use crate::journal;
use crate::pending::parent;
use crate::sys;
use crate::temporary::remove_leftovers;
use crate::transaction;
use crate::tree::{Changes, Tree};

/// How often a locked directory is tried again.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// How long [`tree()`] waits for another process that has locked the directory.
const TREE_WAIT: Duration = Duration::from_mins(1);

/// An exclusive advisory lock on a directory, held until it is dropped or its process ends.
///
/// The lock is on the directory itself (`flock`), so it leaves no file behind and is not part of what is written. Windows cannot
/// lock directories: there, it is a lock file in the directory for temporary files, and excludes processes of the same user only. It
/// excludes other processes, and other threads, that use this type on the same directory; it does not stop programs
/// that do not. Locks of a directory and of one below it are independent. On file systems that cannot lock a directory
/// (some network file systems) [`DirectoryLock::is_exclusive`] returns false.
#[derive(Debug)]
pub struct DirectoryLock {
    /// The directory without symbolic links.
    target: PathBuf,
    /// The lock; `None` if the file system cannot lock a directory.
    lock: Option<sys::Lock>,
    /// Open on the directory.
    _handle: File,
    /// Directories that did not exist, innermost first: removed on drop where they are still empty.
    created: Vec<PathBuf>,
    restored: Vec<String>,
}

impl DirectoryLock {
    /// Locks `directory`, creating it if it does not exist. Reverts what a process that was killed has begun to write there
    /// ([`DirectoryLock::restored`]), and removes temporary files that killed processes left in it and beside it.
    ///
    /// While another process holds the lock, waits up to `limit`; `on_wait` is called once, with the directory, when
    /// the wait begins. If `directory` was created and is still empty when the lock is dropped, it is removed.
    ///
    /// # Errors
    ///
    /// [`Error`] if the directory cannot be created or opened, or `limit` has passed ([`io::ErrorKind::TimedOut`]).
    pub fn acquire(directory: &Path, limit: Duration, on_wait: impl FnOnce(&Path)) -> Result<Self, Error> {
        let fail = |error| Error::new("lock", directory, error);
        let start = Instant::now();
        let mut on_wait = Some(on_wait);
        let mut created = Vec::new();
        loop {
            created.extend(create(directory)?);
            let target = match fs::canonicalize(directory) {
                Ok(target) => target,
                // The process that held the lock removed the directory that it had created.
                Err(error) if error.kind() == io::ErrorKind::NotFound && start.elapsed() < limit => continue,
                Err(error) => return Err(fail(error)),
            };
            let handle = match sys::open_directory(&target) {
                Ok(handle) => handle,
                Err(error) if error.kind() == io::ErrorKind::NotFound && start.elapsed() < limit => continue,
                Err(error) => return Err(fail(error)),
            };
            let lock = match sys::lock(&handle, &target) {
                Ok(lock) => Some(lock),
                Err(TryLockError::WouldBlock) => {
                    if let Some(on_wait) = on_wait.take() {
                        on_wait(directory);
                    }
                    if start.elapsed() >= limit {
                        let reason = format!("locked by another process for more than {} s", limit.as_secs());
                        return Err(fail(io::Error::new(io::ErrorKind::TimedOut, reason)));
                    }
                    thread::sleep(RETRY_INTERVAL);
                    continue;
                }
                Err(TryLockError::Error(_)) => None,
            };
            // The process that held the lock may have removed the directory, and another one created it again.
            if !sys::is_same(&handle, &target) {
                continue;
            }
            remove_leftovers(parent(&target));
            let restored = journal::recover(&target);
            return Ok(Self { target, lock, _handle: handle, created, restored });
        }
    }

    /// Returns the directory's path, without symbolic links.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.target
    }

    /// Returns whether the lock excludes other processes: false on file systems that cannot lock directories.
    #[must_use]
    pub fn is_exclusive(&self) -> bool {
        self.lock.is_some()
    }

    /// Returns the files that a killed process had begun to write, and that were reverted when this lock was acquired: paths
    /// below the directory, sorted.
    #[must_use]
    pub fn restored(&self) -> &[String] {
        &self.restored
    }

    /// Makes the files of `tree` part of the directory: all of them or, if one fails, none.
    ///
    /// The new files are written to a private directory inside this one and flushed to the disk; then each is renamed to its
    /// place. A journal lets the next [`DirectoryLock::acquire`] revert what a process that was killed had renamed. Nothing
    /// else in the directory is touched, and the directory itself stays the same one, so that other programs can work in it,
    /// watch it or mount it.
    ///
    /// Right before a file is replaced or removed, it is compared with what the caller read. Files that changed since then
    /// are not overwritten: the write is reverted and fails with [`Error::Changed`]. Where the file system can exchange two
    /// files (most on Linux), this also holds for a file that is saved between the comparison and the rename.
    ///
    /// A replaced file keeps its mode and, as far as the system allows it, its owner and extended attributes. A symbolic link
    /// with the name of a file of the tree is replaced; nothing is written through one. Files that already hold their bytes are
    /// not touched.
    ///
    /// # Errors
    ///
    /// [`Error::Changed`] with the file that is not as expected. [`Error::Io`] if a path leads out of the directory or into a
    /// version control system's, passes through a symbolic link or a file, names something other than a file or a link, or
    /// cannot be read or written. Nothing is changed then.
    pub fn write(&mut self, tree: &Tree<'_>) -> Result<Changes, Error> {
        for directory in tree.directories() {
            remove_leftovers(&self.target.join(directory));
        }
        let (edits, changes) = tree.plan(&self.target)?;
        transaction::apply(&self.target, &edits, || {})?;
        Ok(changes)
    }
}

impl Drop for DirectoryLock {
    fn drop(&mut self) {
        for directory in &self.created {
            // Fails where something was written, as it should.
            let _ = fs::remove_dir(directory);
        }
    }
}

/// Writes `files` (relative path with `/` → bytes) below `directory`: all of them or, if one fails, none.
///
/// For output that does not depend on what the files held before, as [`file`](crate::file()).
///
/// # Errors
///
/// As [`DirectoryLock::acquire`], which waits for up to a minute, and [`DirectoryLock::write`].
pub fn tree(directory: &Path, files: BTreeMap<String, Vec<u8>>) -> Result<Changes, Error> {
    let mut tree = Tree::new();
    for (path, bytes) in files {
        tree.file(path, Expected::Anything, bytes);
    }
    DirectoryLock::acquire(directory, TREE_WAIT, |_| {})?.write(&tree)
}

/// Creates a directory and its missing parents; returns those that it created, innermost first.
fn create(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let missing: Vec<PathBuf> = directory
        .ancestors()
        .take_while(|path| !path.as_os_str().is_empty() && !path.exists())
        .map(Path::to_owned)
        .collect();
    fs::create_dir_all(directory).map_err(|error| {
        let is_there = fs::symlink_metadata(directory).is_ok();
        match fs::metadata(directory) {
            Ok(_) => Error::invalid("create directory", directory, "it exists and is not a directory"),
            Err(_) if is_there => Error::invalid(
                "create directory",
                directory,
                "it is a symbolic link to nothing; remove it first",
            ),
            Err(_) => Error::new("create", directory, error),
        }
    })?;
    Ok(missing)
}
