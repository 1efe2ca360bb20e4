//! The lock of a directory that a command changes.

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use atomic_files::DirectoryLock;

use super::signals;
use crate::terminal::{NOTE, messages};
use kube_yaml::text::counted;

/// How long to wait for another process that writes to the same directory.
const LOCK_WAIT: Duration = Duration::from_mins(1);

/// Locks a directory from reading to writing, so that two processes do not overwrite each other's changes. It is created if it
/// does not exist.
pub(crate) fn lock(directory: &Path) -> Result<DirectoryLock> {
    signals::end_between_writes();
    let lock = DirectoryLock::acquire(directory, LOCK_WAIT, |path| {
        // A message that cannot be printed stops nothing.
        let _ =
            writeln!(messages(), "{NOTE} waiting for another process that is writing to {}", path.display());
    })?;
    if !lock.restored().is_empty() {
        writeln!(
            messages(),
            "{NOTE} reverted {} in {} that a process had begun to write before it was killed",
            counted(lock.restored().len(), "file"),
            directory.display()
        )?;
    }
    if !lock.is_exclusive() {
        writeln!(
            messages(),
            "{NOTE} the file system of {} does not support locks; do not write to it from two processes at once",
            directory.display()
        )?;
    }
    Ok(lock)
}
