//! Reading the user's files for registries, within limits of size and time: regular files, and streams and devices such as
//! `/dev/null` or a shell's `<(…)`.

use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use crate::sys;

#[cfg(not(unix))]
mod other;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
use other::read_special;
#[cfg(unix)]
use unix::read_special;

/// The maximum time for a stream to end.
const STREAM_TIMEOUT: Duration = Duration::from_secs(30);

/// Returns the bytes of the file at `path`, at most `limit` of them. A stream must end within 30 seconds.
///
/// # Errors
///
/// The system's error, or one of kind `FileTooLarge`, `TimedOut`, or `IsADirectory`.
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    read_within(path, limit, STREAM_TIMEOUT)
}

fn read_within(path: &Path, limit: u64, timeout: Duration) -> io::Result<Vec<u8>> {
    let mut file = sys::open(path)?;
    let metadata = file.metadata()?;
    let kind = metadata.file_type();
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if kind.is_file() {
        let mut bytes = Vec::new();
        (&mut file).take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
        return within_limit(bytes, limit);
    }
    read_special(file, &metadata, limit, timeout)
}

fn within_limit(bytes: Vec<u8>, limit: u64) -> io::Result<Vec<u8>> {
    if bytes.len() as u64 <= limit {
        return Ok(bytes);
    }
    let reason = format!("the file exceeds the limit of {limit} bytes");
    Err(io::Error::new(io::ErrorKind::FileTooLarge, reason))
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write as _;

    use super::*;

    fn kind(path: &Path) -> io::ErrorKind {
        read_within(path, 5, Duration::from_millis(1)).unwrap_err().kind()
    }

    #[test]
    fn regular_file_is_read_up_to_the_limit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read(&path, 5).unwrap(), b"12345");
        assert_eq!(read(&path, 4).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(kind(&dir.path().join("none")), io::ErrorKind::NotFound);
        assert_eq!(kind(dir.path()), io::ErrorKind::IsADirectory);
    }

    #[test]
    fn device_is_read_up_to_the_limit() {
        assert_eq!(read(Path::new("/dev/null"), 5).unwrap(), b"");
        assert_eq!(read(Path::new("/dev/zero"), 5).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn stream_is_read_once_and_remembered() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("fifo");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert_eq!(kind(&path), io::ErrorKind::TimedOut);
        let writer = std::thread::spawn({
            let path = path.clone();
            move || {
                let mut file = OpenOptions::new().write(true).open(path).unwrap();
                file.write_all(b"12").unwrap();
                file.write_all(b"345").unwrap();
            }
        });
        for _ in 0..2 {
            assert_eq!(read(&path, 5).unwrap(), b"12345");
        }
        writer.join().unwrap();
        assert_eq!(kind(&path.with_file_name("none")), io::ErrorKind::NotFound);
    }
}
