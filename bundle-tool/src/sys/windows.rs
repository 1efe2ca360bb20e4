//! Windows.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// A stream that may be a terminal.
pub(crate) use std::os::windows::io::AsHandle as AsStream;

/// Does nothing: there is no file size limit.
pub(crate) fn report_file_size_limit() {}

/// Opens an existing file for writing.
pub(crate) fn open_existing(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).open(path)
}

/// Returns the path that a program printed. If it is not valid UTF-8, there is no such path.
pub(crate) fn path_from_bytes(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}
