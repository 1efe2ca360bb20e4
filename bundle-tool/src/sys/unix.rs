//! Linux and other Unix systems.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// A stream that may be a terminal.
pub(crate) use std::os::fd::AsFd as AsStream;

/// Makes a write beyond the file size limit (`ulimit -f`) an error instead of the end of the process, so that temporary
/// files are removed.
pub(crate) fn report_file_size_limit() {
    // Without a handler, the process ends with the signal's default, as other programs do.
    let _ = signal_hook::flag::register(libc::SIGXFSZ, std::sync::Arc::default());
}

/// Opens an existing file for writing, without waiting for the other end of a FIFO.
pub(crate) fn open_existing(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(path)
}

/// Returns the path that a program printed.
pub(crate) fn path_from_bytes(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}
