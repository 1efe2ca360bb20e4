//! Reading the user's files for registries, which may be anything: regular files only, and within a limit.

use std::io::{self, Read};
use std::path::Path;

use crate::layout::{self, open_regular};

/// Returns the bytes of the regular file at `path`, at most `limit` of them.
///
/// # Errors
///
/// The system's error, one of kind `InvalidInput` if `path` is not a regular file, or one of kind `FileTooLarge`.
pub(super) fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let (file, _) = open_regular(path).map_err(|error| match error {
        layout::Error::Read { source, .. } => source,
        layout::Error::NotRegular { found, .. } => {
            io::Error::new(io::ErrorKind::InvalidInput, format!("expected a regular file, found {found}"))
        }
        error => io::Error::other(error),
    })?;
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        let reason = format!("the file exceeds the limit of {limit} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regular_files_are_read_up_to_the_limit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read(&path, 5).unwrap(), b"12345");
        assert_eq!(read(&path, 4).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(read(&dir.path().join("none"), 5).unwrap_err().kind(), io::ErrorKind::NotFound);
        for path in [Path::new("/dev/zero"), dir.path()] {
            assert_eq!(read(path, 5).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
    }
}
