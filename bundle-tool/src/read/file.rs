//! Reading one foreign file: only regular files, and never more than a stated number of bytes.
//!
//! A path may name a FIFO that nobody writes to, a device that never ends or a file of the kernel that blocks. The type
//! is therefore checked before opening (so that no device sees an open) and again on the open file (so that a swapped
//! path makes no difference), and files are opened without blocking.

use std::fs::{self, File, FileType, Metadata};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// The maximum size of a file that is read as manifests, in bytes. The API server reads objects of at most 3 MiB.
pub const MAX_FILE_SIZE: u64 = 32 << 20;

/// Why a file or directory cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unreadable {
    /// The operating system reports an error.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A FIFO, a socket or a device.
    #[error("expected a regular file, found {0}")]
    NotRegular(&'static str),
    /// A symbolic link to a directory, where these are not followed.
    #[error("symbolic links to directories are not followed")]
    DirectoryLink,
    /// A symbolic link to a directory that contains the link.
    #[error("the symbolic link points to a directory that contains it")]
    Cycle,
    /// A directory at the maximum depth: what it contains is not listed.
    #[error("the directory is nested deeper than {0} levels")]
    TooDeep(usize),
    /// The file is larger than the reader accepts.
    #[error("the file exceeds the limit of {0} bytes")]
    TooLarge(u64),
    /// The files read so far leave no room for this one.
    #[error("the files read together exceed the limit of {0} bytes")]
    TotalTooLarge(u64),
}

impl Unreadable {
    /// Whether the machine is at fault (out of descriptors or memory, a failing disk) rather than what is read.
    #[must_use]
    pub fn is_environment(&self) -> bool {
        let Self::Io(error) = self else { return false };
        !matches!(
            error.kind(),
            ErrorKind::NotFound
                | ErrorKind::PermissionDenied
                | ErrorKind::NotADirectory
                | ErrorKind::IsADirectory
                | ErrorKind::InvalidInput
                | ErrorKind::InvalidFilename
                | ErrorKind::WouldBlock
                | ErrorKind::Unsupported
        ) && !is_link_loop(error)
    }
}

/// Whether a path leads through too many links (`ELOOP`), which has no stable [`ErrorKind`].
fn is_link_loop(error: &io::Error) -> bool {
    #[cfg(unix)]
    return error.raw_os_error() == Some(libc::ELOOP);
    #[cfg(not(unix))]
    return false;
}

/// Reads the regular file at `path`, through links, if it is at most `limit` bytes long.
///
/// # Errors
/// The file cannot be opened or read, is not a regular file, or is longer.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>, Unreadable> {
    let (file, metadata) = open(path)?;
    if metadata.len() > limit {
        return Err(Unreadable::TooLarge(limit));
    }
    // Files of the kernel have no size: what is read counts.
    read_to_end(file, limit, metadata.len())
}

/// Reads a stream to its end if it is at most `limit` bytes long.
///
/// # Errors
/// The stream breaks or is longer.
pub fn read_stream(stream: impl Read, limit: u64) -> Result<Vec<u8>, Unreadable> {
    read_to_end(stream, limit, 0)
}

/// Reads a stream to its end, which is expected after `size` bytes.
fn read_to_end(stream: impl Read, limit: u64, size: u64) -> Result<Vec<u8>, Unreadable> {
    let mut bytes = Vec::with_capacity(usize::try_from(size.min(limit)).unwrap_or_default());
    stream.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(Unreadable::TooLarge(limit));
    }
    Ok(bytes)
}

/// Opens the regular file at `path`, through links, for reading.
///
/// # Errors
/// The file cannot be opened or is not a regular file.
pub fn open(path: &Path) -> Result<(File, Metadata), Unreadable> {
    check_type(fs::metadata(path)?.file_type())?;
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    }
    let file = options.open(path)?;
    let metadata = file.metadata()?;
    check_type(metadata.file_type())?;
    Ok((file, metadata))
}

fn check_type(file_type: FileType) -> Result<(), Unreadable> {
    if file_type.is_file() { Ok(()) } else { Err(Unreadable::NotRegular(type_name(file_type))) }
}

/// What kind of file stands where a regular one is expected.
pub(super) fn type_name(file_type: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        if file_type.is_fifo() {
            return "a FIFO";
        }
        if file_type.is_socket() {
            return "a socket";
        }
        if file_type.is_char_device() || file_type.is_block_device() {
            return "a device";
        }
    }
    if file_type.is_dir() {
        "a directory"
    } else if file_type.is_symlink() {
        "a symbolic link"
    } else {
        "a special file"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_the_limit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        fs::write(&path, "12345").unwrap();
        assert_eq!(read(&path, 5).unwrap(), b"12345");
        assert!(matches!(read(&path, 4), Err(Unreadable::TooLarge(4))));
        assert!(matches!(read_stream(io::repeat(0), 1000), Err(Unreadable::TooLarge(1000))));
        assert!(matches!(read(dir.path(), 5), Err(Unreadable::NotRegular("a directory"))));
    }

    #[cfg(unix)]
    #[test]
    fn files_that_are_not_regular_are_not_opened() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert!(matches!(read(&socket, 5), Err(Unreadable::NotRegular("a socket"))));
        for device in ["/dev/zero", "/dev/null"] {
            assert!(matches!(read(Path::new(device), 5), Err(Unreadable::NotRegular("a device"))));
        }
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("link", &link).unwrap();
        let error = read(&link, 5).unwrap_err();
        assert!(matches!(error, Unreadable::Io(_)) && !error.is_environment(), "{error}");
    }

    #[test]
    fn errors_of_the_machine_are_told_from_those_of_the_input() {
        let missing = Unreadable::from(io::Error::from(ErrorKind::NotFound));
        assert!(!missing.is_environment());
        #[cfg(unix)]
        for code in [libc::EMFILE, libc::ENFILE, libc::ENOMEM, libc::EIO] {
            assert!(Unreadable::from(io::Error::from_raw_os_error(code)).is_environment(), "{code}");
        }
    }
}
