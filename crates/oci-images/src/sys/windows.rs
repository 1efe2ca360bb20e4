//! Windows.

use std::fs::{File, FileType, Metadata};
use std::io::{self, Read as _};
use std::os::windows::fs::FileExt as _;
use std::path::Path;

/// Opens a file for reading.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Reads from a position. It becomes the position of the file, so that every reader has to name its own.
pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    file.seek_read(buffer, offset)
}

/// Returns the type of a file that is none of a regular file, a directory and a link, with an article.
pub(crate) fn special_name(_file_type: FileType) -> &'static str {
    "a device"
}

/// Returns whether a file is an executable of Linux or a script, because Windows has no permission to execute a file.
pub(crate) fn is_executable(path: &Path, metadata: &Metadata) -> io::Result<bool> {
    let mut first = Vec::new();
    if metadata.is_file() {
        File::open(path)?.take(4).read_to_end(&mut first)?;
    }
    Ok(first == b"\x7fELF" || first.starts_with(b"#!"))
}

/// Always fails.
#[cfg(feature = "registry")]
pub(crate) fn create_private_directory(_path: &Path) -> io::Result<()> {
    let reason = "logins are not written on Windows, where the file could be read by other users; use REGISTRY_AUTH_FILE";
    Err(io::Error::new(io::ErrorKind::Unsupported, reason))
}
