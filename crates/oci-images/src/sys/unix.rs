//! Linux and other Unix systems.

use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

/// Opens a file for reading. Opening does not wait for the other end of a FIFO.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)
}

/// Reads from a position, whatever the position of the file is.
pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    file.read_at(buffer, offset)
}

/// Returns the type of a file that is none of a regular file, a directory and a link, with an article.
pub(crate) fn special_name(file_type: FileType) -> &'static str {
    if file_type.is_fifo() {
        "a FIFO"
    } else if file_type.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

/// Returns whether the file at a path can be executed.
#[expect(clippy::unnecessary_wraps, reason = "other systems report errors")]
pub(crate) fn is_executable(_path: &Path, metadata: &Metadata) -> io::Result<bool> {
    Ok(metadata.permissions().mode() & 0o111 != 0)
}

/// Creates a directory that only its owner can enter, and its missing parents.
#[cfg(feature = "registry")]
pub(crate) fn create_private_directory(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}
