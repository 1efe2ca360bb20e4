//! Reading a stream within a limit, and why a file is not read.

use std::io::{self, ErrorKind, Read};

/// The maximum size of a file that is read as manifests, in bytes. The API server reads objects of at most 3 MiB.
pub const MAX_FILE_SIZE: u64 = 32 << 20;

/// Why a file or directory cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unreadable {
    /// The operating system reports an error.
    #[error("{}", kube_yaml::text::message(.0))]
    Io(#[from] io::Error),
    /// A FIFO, a socket or a device.
    #[error("expected a regular file, found {0}")]
    NotRegular(&'static str),
    /// A symbolic link to a directory, where these are not followed.
    #[error("symbolic links to directories are not followed")]
    DirectoryLink,
    /// A symbolic link or a path out of the directory that is read: what it leads to is not part of it, and may be secret.
    #[error("the symbolic link points outside the directory")]
    LeavesDirectory,
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
    /// Returns whether the machine is at fault (out of descriptors or memory, a failing disk) rather than what is read.
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

    /// Returns whether there is no such file.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Io(error) if error.kind() == ErrorKind::NotFound)
    }
}

/// Returns whether a path leads through too many links.
fn is_link_loop(error: &io::Error) -> bool {
    #[cfg(all(feature = "fs", unix))]
    let code = Some(rustix::io::Errno::LOOP.raw_os_error());
    // `ERROR_CANT_RESOLVE_FILENAME`.
    #[cfg(windows)]
    let code = Some(1921);
    // Only with the feature are files read.
    #[cfg(not(any(all(feature = "fs", unix), windows)))]
    let code = None;
    code.is_some() && error.raw_os_error() == code
}

/// Reads a stream to its end if it is at most `limit` bytes long.
///
/// # Errors
/// The stream breaks or is longer.
pub fn read_stream(stream: impl Read, limit: u64) -> Result<Vec<u8>, Unreadable> {
    read_to_end(stream, limit, 0)
}

/// Reads a stream to its end, which is expected after `size` bytes.
pub(crate) fn read_to_end(stream: impl Read, limit: u64, size: u64) -> Result<Vec<u8>, Unreadable> {
    let mut bytes = Vec::with_capacity(usize::try_from(size.min(limit)).unwrap_or_default());
    stream.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(Unreadable::TooLarge(limit));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stream_that_never_ends_is_too_large() {
        assert!(matches!(read_stream(io::repeat(0), 1000), Err(Unreadable::TooLarge(1000))));
    }

    #[test]
    fn machine_errors_are_distinguished_from_input_errors() {
        let missing = Unreadable::from(io::Error::from(ErrorKind::NotFound));
        assert!(!missing.is_environment() && missing.is_missing());
        #[cfg(all(feature = "fs", unix))]
        {
            use rustix::io::Errno;
            for code in [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::IO] {
                assert!(Unreadable::from(io::Error::from(code)).is_environment(), "{code}");
            }
        }
    }
}
